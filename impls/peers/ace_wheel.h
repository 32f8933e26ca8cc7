// ACE's timer wheel: one level of sorted lists.
//
// ACE_Timer_Wheel_T runs, as ace/timers.h drives it, with its default size: 1 024 spokes of 128
// ms, so a turn takes 131 seconds. A tick is a millisecond. A spoke is a list in the order of
// deadlines, those of later turns included. Timers of the next 2^62 ticks are the library's, and
// others wait in core/far_store.h.
//
// Invariants:
//   1. A timer that has a handle is in the library's queue, under its deadline.
//
// Cost:
//   schedule O(n / 1024): from the end of the spoke's list to its place, a node each
//   cancel O(n / 1024): from the begin of the spoke's list to the node; if it was the first timer of
//     all, up to 1 024 spokes, two lines each
//   advance O(fired), up to 1 024 spokes for each, and a virtual call
//   next_wakeup O(1)
//   109 bytes a timer: a node, the handle, the deadline, and a place in the array of those that
//     fired
//
// Good: for some thousand timers whose delays differ by less than a turn.
// Bad: for more.
// Follows: ACE 7.0, ace/Timer_Wheel_T.cpp; Varghese and Lauck, scheme 5.
// Deviates: it has no lock, where a reactor's has a recursive mutex; its free list of nodes keeps
//   all.
#pragma once

#include <ace/Timer_Wheel_T.h>

#include "core/far_store.h"
#include "core/timer_queue.h"
#include "peers/ace/timers.h"

namespace timerbench {

class AceWheel : public WithFarStore<AceTimers<ACE_Timer_Wheel_T>> {
 public:
  static constexpr Traits traits{.name = "ace_wheel",
                                 .summary = "ACE's timer wheel: one level of sorted lists",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "ACE " ACE_VERSION ", libace-dev",
                                 .is_library = true};
  using WithFarStore::WithFarStore;
};
static_assert(TimerQueue<AceWheel>);

}  // namespace timerbench
