// What the machine itself can do: no timer structure is faster than the memory that it touches. They
// are controls of a campaign, beside the backend that does nothing.
#pragma once

#include <cstddef>
#include <vector>

namespace timerbench {

// Nanoseconds each, at a working set of so many bytes.
struct MemoryLimit {
  std::size_t bytes;
  double
      random_access;  // a read-modify-write of 8 bytes anywhere; the next one does not wait for it
  double list_walk;  // the next of nodes of 64 bytes in random order: each waits for the one before
};

struct Limits {
  std::vector<MemoryLimit> memory;
  double append;      // 8 bytes behind the last ones, in a working set of the largest size
  double clock;       // reading the steady clock
  double sleep_late;  // how much later than wanted a sleep of 1 ms ends: the median
};

// Takes about a second, and the largest working set once. Throws std::bad_alloc.
Limits measure_limits(const std::vector<std::size_t>& working_sets);

// From the first cache to main memory.
inline const std::vector<std::size_t> kWorkingSets = {32UL << 10, 1UL << 20, 16UL << 20,
                                                      256UL << 20};

}  // namespace timerbench
