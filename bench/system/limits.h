// What the machine itself can do. No timer structure is faster than the memory that it touches.
// These are controls of a campaign, besides the backend that does nothing.
#pragma once

#include <cstddef>
#include <vector>

namespace timerbench {

// Nanoseconds per access, at a working set of this size.
struct MemoryLimit {
  std::size_t bytes;
  double random_access;  // a read-modify-write of 8 bytes anywhere, independent of the last one
  double list_walk;  // to the next node of 64 bytes, in random order: each waits for the last one
};

struct Limits {
  std::vector<MemoryLimit> memory;
  double append;      // writing 8 bytes sequentially, in the largest working set
  double clock;       // reading the steady clock
  double sleep_late;  // median by which a sleep of 1 ms ends late
};

// Takes about a second, and as much memory as the largest working set. Throws std::bad_alloc.
Limits measure_limits(const std::vector<std::size_t>& working_sets);

// From the first-level cache to main memory.
inline const std::vector<std::size_t> kWorkingSets = {32UL << 10, 1UL << 20, 16UL << 20,
                                                      256UL << 20};

}  // namespace timerbench
