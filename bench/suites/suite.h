// A suite: which workloads, at which sizes, and how much time each cell may take.
#pragma once

#include <string_view>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

// What is asked of a backend at a size.
struct Effort {
  std::uint64_t items;    // measured operations, where a workload leaves that free; 0: its default
  double replay_seconds;  // its share of time: one replay with its setup
};

struct Suite {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> workloads;
  std::vector<TimerId> sizes;
  std::vector<std::string_view> traces;  // of bench/traces
  Effort local;                          // of backends in this process
  Effort remote;                         // of those in another, a round trip away
  int repetitions;                       // of each cell: the spread
  double min_seconds;                    // measured, in each repetition
};

const std::vector<Suite>& suites();

}  // namespace timerbench
