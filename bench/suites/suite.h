// A suite: which workloads, at which sizes, and how much time each cell may take. Suites are data, one
// TOML file each; bench/suites/quick.toml is an example with every key explained.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/timer_queue.h"
#include "workloads/workload.h"

namespace timerbench {

// What is asked of a backend at a size.
struct Effort {
  std::uint64_t items;    // measured operations, where a workload leaves that free; 0: its default
  double replay_seconds;  // its share of time: one replay with its setup
};

// A workload as a suite has it: perhaps with other parameters, and then under a name of its own.
struct SuiteWorkload {
  std::string name;
  const Workload* workload;
  Settings settings{};
  std::vector<TimerId> sizes{};  // none: the suite's
};

struct Suite {
  std::string name;
  std::string summary;
  std::vector<std::string> backends{};  // or families of them; none: all
  std::vector<SuiteWorkload> workloads{};
  std::vector<TimerId> sizes{};
  std::vector<std::string> traces{};  // of bench/traces
  Effort local{};                     // of backends in this process
  Effort remote{};                    // of those in another, a round trip away
  int rounds = 1;                     // of each cell: the spread
  double min_seconds = 0;             // measured, in each round
};

// A suite that cannot be understood: the text is one line, "FILE:LINE: what is wrong".
struct SuiteError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Reads a suite; its name is the file's. Throws SuiteError.
Suite load_suite(const std::filesystem::path& file);

}  // namespace timerbench
