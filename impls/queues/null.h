// A control: takes every operation and does nothing.
//
// Its replay costs what the harness itself costs: reading the trace, choosing the operation and
// calling the backend. The arguments are forced into registers; otherwise the compiler would delete
// the loop, and nothing would be measured.
//
// Invariants:
//   1. Nothing is ever pending: size() is 0 and next_wakeup() is kNever.
//
// Cost:
//   schedule, cancel, advance O(1), no memory touched
//
// Good: it shows the harness's share of every other figure, except for the digest of the fires.
// Bad: it fires nothing, so it is never ranked.
// Follows: nothing.
#pragma once

#include "core/timer_queue.h"

namespace timerbench {

class Null {
 public:
  static constexpr Traits traits{.name = "null",
                                 .summary = "walks the operations and does nothing",
                                 .precision = Precision::none,
                                 .ordered = false,
                                 .paper = ""};

  explicit Null(const QueueConfig&) {}

  void schedule(TimerId id, Tick deadline) { asm volatile("" : : "r"(id), "r"(deadline)); }

  bool cancel(TimerId id) {
    asm volatile("" : : "r"(id));
    return false;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&&) {
    asm volatile("" : : "r"(now));
    return 0;
  }

  Tick next_wakeup() const { return kNever; }
  std::size_t size() const { return 0; }
};
static_assert(TimerQueue<Null>);

}  // namespace timerbench
