// Measures how busy the processors of this machine are.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

namespace timerbench {

// The load while it was watched.
struct Load {
  double of_all = 0;      // in processors
  double of_busiest = 0;  // 0 .. 1
};

// Measures from before `wait` until after it. Nothing if the kernel does not count the time.
// REQUIRES: `root` is "/", or a test's folder with /proc.
std::optional<Load> watch_load(const std::filesystem::path& root,
                               const std::function<void()>& wait);

}  // namespace timerbench
