// What processes and all their descendants have used.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace timerbench {

struct ProcessTreeUsage {
  double cpu_seconds = 0;         // of those that live, and of their children that have ended
  double living_cpu_seconds = 0;  // of the threads that live, in ns and not in ticks of 10 ms
  std::uint64_t wakeups = 0;      // how often they have waited
  std::uint64_t bytes = 0;        // resident; what they share counts once
  std::vector<pid_t> processes{};
};

// Of these and all their descendants. Reads /proc once, which takes a millisecond or two.
ProcessTreeUsage usage_of_trees(const std::vector<pid_t>& roots);

}  // namespace timerbench
