// Whether what is planned gets done as fast as it is planned, or ever later.
//
// Who does things at a share r of the rate at which they are planned is late by (1/r - 1) more for
// each second of the plan; who is late by the same all the time keeps up, be it by 100 ms. So the pace
// is told by how much later the second half of the things are than the first, in the median, which
// a hiccup of the machine does not move. Nor does a backlog that grows in the last quarter only.
#pragma once

#include <cstddef>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

// At a smaller share of the planned rate who does them is saturated.
inline constexpr double kKeepsUp = 0.99;

class Pace {
 public:
  void reserve(std::size_t count) { done_.reserve(count); }

  // One that was planned for that instant, and done so much later. In ns.
  void add(Tick planned, Tick late) { done_.push_back({planned, late}); }

  // One that is not done, though there was time enough.
  void add_undone() { ++undone_; }
  std::size_t undone() const { return undone_; }

  // The share of the planned rate that is achieved, 0 to 1, and no more than the share of what is
  // done. 1 if fewer than 20 are done, or all are planned for one instant. O(n log n); once.
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
