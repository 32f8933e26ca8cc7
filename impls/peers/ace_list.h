// ACE's timer list: one list in the order of deadlines.
//
// ACE_Timer_List_T runs, as ace/timers.h drives it. A tick is a millisecond. Timers of the next 2^62
// ticks are the library's, and others wait in core/far_store.h.
//
// Invariants:
//   1. A timer that has a handle is in the library's queue, under its deadline.
//
// Cost:
//   schedule O(n): from the end of the list to its place, a node each
//   cancel O(n): from the begin of the list to the node that has the handle
//   advance O(fired), and a virtual call for each
//   next_wakeup O(1)
//   109 bytes a timer: a node, the handle, the deadline, and a place in the array of those that
//     fired
//
// Good: for some hundred timers, or if each is due after all others and few are cancelled.
// Bad: for more.
// Follows: ACE 7.0, ace/Timer_List_T.cpp.
// Deviates: it has no lock, where a reactor's has a recursive mutex; its free list of nodes keeps
//   all.
#pragma once

#include <ace/Timer_List_T.h>

#include "core/far_store.h"
#include "core/timer_queue.h"
#include "peers/ace/timers.h"

namespace timerbench {

class AceList : public WithFarStore<AceTimers<ACE_Timer_List_T>> {
 public:
  static constexpr Traits traits{.name = "ace_list",
                                 .summary = "ACE's timer list: one sorted list",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "ACE " ACE_VERSION ", libace-dev",
                                 .is_library = true};
  using WithFarStore::WithFarStore;
};
static_assert(TimerQueue<AceList>);

}  // namespace timerbench
