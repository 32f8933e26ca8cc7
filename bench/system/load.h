// What the processors of this machine are busy with while one looks.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

namespace timerbench {

// What they did while they were watched.
struct Load {
  double of_all = 0;      // processors' worth
  double of_busiest = 0;  // 0 .. 1
};

// From before `wait` until after it. Nothing if the kernel counts no time. REQUIRES: `root` is "/",
// or a folder with a /proc as a test has.
std::optional<Load> watch_load(const std::filesystem::path& root,
                               const std::function<void()>& wait);

}  // namespace timerbench
