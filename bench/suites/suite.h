// A suite: which workloads, at which sizes, and how much time each cell may take. Each suite is a
// TOML file; bench/suites/quick.toml explains every key.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/timer_queue.h"
#include "workloads/workload.h"

namespace timerbench {

// The effort for a backend at a size.
struct Effort {
  std::uint64_t items;  // measured operations, if the workload has no fixed number; 0: its default
  double replay_seconds;  // the most time for one replay with its setup
};

// A workload of a suite. With its own parameters it has a name of its own.
struct SuiteWorkload {
  std::string name;
  const Workload* workload;
  Settings settings{};
  std::vector<TimerId> sizes{};  // empty: the suite's
};

struct Suite {
  std::string name;
  std::string summary;
  std::vector<std::string> backends{};  // or families; empty: all
  std::vector<SuiteWorkload> workloads{};
  std::vector<TimerId> sizes{};
  std::vector<std::string> traces{};  // of bench/traces
  Effort local{};                     // for backends in this process
  Effort remote{};                    // for backends in another process, a round trip away
  int rounds = 1;                     // of each cell; they show the spread
  double min_seconds = 0;             // measured, in each round
};

// The suite is malformed. The text is one line, "FILE:LINE: what is wrong".
struct SuiteError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Reads a suite. The file's name gives its name. Throws SuiteError.
Suite load_suite(const std::filesystem::path& file);

}  // namespace timerbench
