// A control: one_store that first reads what it overwrites, as any queue does that says whether a
// timer was pending.
//
// A store leaves its line to the store buffer, and the processor goes on. A load keeps its place
// among the instructions in flight until the line is there, so fewer misses overlap.
//
// Invariants:
//   1. deadlines_[id] is the deadline of the last schedule(id), or kNever if cancel(id) came after
//      it or there was none.
//   2. pending_ counts those that are not kNever; nobody is told.
//
// Cost:
//   schedule, cancel O(1): one load and one store, 1 line
//   advance nothing
//   8 bytes a timer
//
// Good: beside one_store it shows what it costs to know whether a timer was pending.
// Bad: it fires nothing, so it is never ranked.
// Follows: one_store.
#pragma once

#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

class OneStoreThatReads {
 public:
  static constexpr Traits traits{.name = "one_store_that_reads",
                                 .summary = "reads the deadline in an array, and overwrites it",
                                 .precision = Precision::none,
                                 .ordered = false,
                                 .paper = ""};

  explicit OneStoreThatReads(const QueueConfig& config) : deadlines_(config.capacity, kNever) {}

  void schedule(TimerId id, Tick deadline) { exchange(id, deadline); }

  bool cancel(TimerId id) {
    exchange(id, kNever);
    return false;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&&) {
    asm volatile("" : : "r"(now));
    return 0;
  }

  Tick next_wakeup() const { return kNever; }
  std::size_t size() const { return 0; }

 private:
  void exchange(TimerId id, Tick deadline) {
    pending_ += (deadline != kNever) - (deadlines_[id] != kNever);
    deadlines_[id] = deadline;
    asm volatile("" : : "r"(pending_) : "memory");  // keep both
  }

  std::vector<Tick> deadlines_;
  Tick pending_ = 0;
};
static_assert(TimerQueue<OneStoreThatReads>);

}  // namespace timerbench
