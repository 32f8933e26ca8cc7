// A suite: which workloads, at which sizes, and how much time each cell may take.
#pragma once

#include <string_view>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

struct Suite {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> workloads;
  std::vector<TimerId> sizes;
  std::vector<std::string_view> traces;  // of bench/traces
  std::uint64_t items;  // measured operations, where a workload leaves that free; 0: its default
  std::uint64_t remote_items;  // the same for backends that live in another process
  int repetitions;             // of each cell: the spread
  double min_seconds;          // measured, in each repetition
  double replay_seconds;       // a backend's share of time at a size: one replay with its setup
};

const std::vector<Suite>& suites();

}  // namespace timerbench
