// A periodic sweep: every advance() looks at every deadline.
//
// An array of deadlines by id. Arming, moving and cancelling are one store each. advance() pays for
// that: it walks the whole array, idle ids included.
//
// Invariants:
//   1. deadlines_[id] is kNever exactly if id is not pending.
//   2. No pending deadline is before earliest_. A cancel or a move to a later time may leave
//      earliest_ too early, never too late.
//
// Cost:
//   schedule, cancel O(1): 1 line
//   advance O(capacity): sequential, 8 deadlines a line
//   next_wakeup O(1): the earliest deadline that the last sweep left or that was armed since
//   8 bytes a timer
//
// Good: for a few hundred timers, or when sweeps are rare and timers move all the time.
// Bad: when advance() is called often with many ids.
// Follows: the loop over all connections that many servers run once a second.
// Deviates: it looks at a compact array of deadlines, where a server visits its connections, a line
//   or more of each; and at each advance(), not once a second.
#pragma once

#include <algorithm>
#include <cassert>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

class Scan {
 public:
  static constexpr Traits traits{.name = "scan",
                                 .summary = "array of deadlines, every tick walks all",
                                 .precision = Precision::exact,
                                 .ordered = false,
                                 .paper = "periodic sweep over all connections"};

  explicit Scan(const QueueConfig& config)
      : now_(config.start), deadlines_(config.capacity, kNever) {}

  void schedule(TimerId id, Tick deadline) {
    assert(id < deadlines_.size());
    size_ += deadlines_[id] == kNever;
    deadlines_[id] = deadline;
    earliest_ = std::min(earliest_, deadline);
  }

  bool cancel(TimerId id) {
    assert(id < deadlines_.size());
    if (deadlines_[id] == kNever) return false;
    deadlines_[id] = kNever;
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    const std::size_t before = size_;
    Tick earliest = kNever;
    for (TimerId id = 0; id < deadlines_.size(); ++id) {
      const Tick deadline = deadlines_[id];
      if (deadline > now) {
        earliest = std::min(earliest, deadline);
        continue;
      }
      deadlines_[id] = kNever;
      --size_;
      sink(id, deadline);
    }
    earliest_ = earliest;
    work_.passed += deadlines_.size() - (before - size_);
    return before - size_;
  }

  // A bound: it may come from a timer that has been cancelled or moved later.
  Tick next_wakeup() const { return size_ == 0 ? kNever : earliest_; }
  std::size_t size() const { return size_; }
  AdvanceWork work() const { return work_; }

 private:
  Tick now_;
  Tick earliest_ = kNever;  // no pending deadline is before it
  std::size_t size_ = 0;
  AdvanceWork work_;
  std::vector<Tick> deadlines_;  // by id; kNever: idle
};
static_assert(TimerQueue<Scan>);

}  // namespace timerbench
