// Pace: whether a load is done at its planned rate, or falls behind.
//
// Work done at a share r of its planned rate becomes later by (1/r - 1) for each second of the
// plan. A constant lateness, even of 100 ms, means that it keeps up. So the pace follows from the
// difference between the median lateness of the second half and of the first half. A short pause of
// the machine does not change these medians; nor does a backlog that grows in the last quarter
// only.
#pragma once

#include <cstddef>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

// Below this share of the planned rate a service is saturated.
inline constexpr double kKeepsUp = 0.99;

class Pace {
 public:
  void reserve(std::size_t count) { done_.reserve(count); }

  // Adds an item that was planned for this instant and done this much later. In ns.
  void add(Tick planned, Tick late) { done_.push_back({planned, late}); }

  // Adds an item that was not done, though there was time enough.
  void add_undone() { ++undone_; }
  std::size_t undone() const { return undone_; }

  // The achieved share of the planned rate, 0 to 1, at most the share of items done. Lateness
  // counts only if 20 or more are done and not all are planned for one instant. O(n log n).
  // REQUIRES: called once.
  double achieved();

 private:
  struct Thing {
    Tick planned;
    Tick late;
  };

  std::vector<Thing> done_;
  std::size_t undone_ = 0;
};

}  // namespace timerbench
