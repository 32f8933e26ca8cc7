// What a process and all its descendants have used.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace timerbench {

struct ProcessTreeUsage {
  double cpu_seconds = 0;  // of those that live, and of their children that have ended
  std::uint64_t bytes = 0;  // resident; what they share counts once
  std::uint64_t processes = 0;
};

// Reads /proc once, which takes a millisecond or two. Nothing if there is no such process.
ProcessTreeUsage usage_of_tree(pid_t root);

}  // namespace timerbench
