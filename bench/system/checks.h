// The checks of `timerbench doctor`.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "system/doctor.h"
#include "system/load.h"
#include "system/probes.h"

namespace timerbench {

struct Machine {
  const std::filesystem::path& root;
  const Probes& probes;
  std::optional<Load> load;  // nothing: not watched

  std::filesystem::path cpu(std::string_view file) const {
    return root / "sys/devices/system/cpu" / file;
  }
};

struct Finding {
  CheckState state;
  std::string found;
  std::string advice{};
};

struct Row {
  std::string_view name;
  Weight weight;
  Finding (*look)(const Machine&);
};

// Heaviest first.
std::span<const Row> rows();

}  // namespace timerbench
