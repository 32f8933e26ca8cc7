// The harness itself: takes every operation and does nothing.
//
// Its replay is what reading the trace, choosing the operation and calling the backend cost. The
// arguments are made to exist in registers, or the compiler would delete the loop and nothing would
// be measured.
//
//   schedule, cancel, advance O(1), no memory touched
//
// A control: never ranked.
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
