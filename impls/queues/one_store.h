// A control: the least that any backend can do, one store into an array.
//
// It writes the deadline where the timer's owner would keep it, and never reads it back.
//
// Invariants:
//   1. deadlines_[id] is the deadline of the last schedule(id), or kNever if cancel(id) came after
//      it or there was none.
//   2. Nothing counts as pending: size() is 0 and next_wakeup() is kNever.
//
// Cost:
//   schedule, cancel O(1): one store, 1 line
//   advance nothing
//   8 bytes a timer
//
// Good: it is the floor that a lazy structure may approach.
// Bad: it fires nothing, so it is never ranked.
// Follows: nothing.
#pragma once

#include <cassert>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

class OneStore {
 public:
  static constexpr Traits traits{.name = "one_store",
                                 .summary = "only writes the deadline into an array",
                                 .precision = Precision::none,
                                 .ordered = false,
                                 .paper = ""};

  explicit OneStore(const QueueConfig& config) : deadlines_(config.capacity, kNever) {}

  void schedule(TimerId id, Tick deadline) { store(id, deadline); }

  bool cancel(TimerId id) {
    store(id, kNever);
    return false;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&&) {
    asm volatile("" : : "r"(now));
    return 0;
  }

  Tick next_wakeup() const { return kNever; }
  std::size_t size() const { return 0; }

 protected:
  std::vector<Tick> deadlines_;

 private:
  void store(TimerId id, Tick deadline) {
    assert(id < deadlines_.size());
    deadlines_[id] = deadline;
    asm volatile("" : : : "memory");  // nobody reads it back; keep the store
  }
};
static_assert(TimerQueue<OneStore>);

}  // namespace timerbench
