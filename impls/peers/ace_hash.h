// ACE's timer hash: sorted lists by the second of the deadline.
//
// ACE_Timer_Hash_T of ACE_Timer_List_T runs, as ace/timers.h drives it, with its default size: 1 024
// lists of a second each, those of later turns included. A tick is a millisecond. Timers of the next
// 2^62 ticks are the library's, and others wait in core/far_store.h.
//
// Invariants:
//   1. A timer that has a handle is in the library's queue, under its deadline.
//
// Cost:
//   schedule O(n / lists in use): from the end of a list to its place, a node each
//   cancel O(n / lists in use): from the begin of a list to the node, and 1 024 lists, three lines
//     each, if it was the first timer of all
//   advance O(fired), and 1 024 lists, three lines each, always
//   next_wakeup O(1)
//   151 bytes a timer: a node, a token, the handle, the deadline, and a place in the array of those
//     that fired
//
// Good: for some hundred timers.
// Bad: for a clock that moves often: each move looks at all lists.
// Follows: ACE 7.0, ace/Timer_Hash_T.cpp.
// Deviates: it has no lock, where a reactor's has a recursive mutex. Its free lists keep all that is
//   free, for expire() reads a node and its token after it has given them back: by default it
//   crashes when more than 25 000 timers fire at once.
#pragma once

#include <ace/Timer_Hash_T.h>
#include <ace/Timer_List_T.h>

#include "core/far_store.h"
#include "core/timer_queue.h"
#include "peers/ace/timers.h"

namespace timerbench {

using AceHashUpcall =
    ACE_Timer_Hash_Upcall<ACE_Event_Handler*, ACE_Event_Handler_Handle_Timeout_Upcall,
                          ACE_Null_Mutex>;
using AceHashBucket = ACE_Timer_List_T<ACE_Event_Handler*, AceHashUpcall, ACE_Null_Mutex>;

class AceHash : public WithFarStore<AceTimers<ACE_Timer_Hash_T, AceHashBucket>> {
 public:
  static constexpr Traits traits{.name = "ace_hash",
                                 .summary = "ACE's timer hash: sorted lists by second",
                                 .precision = Precision::exact,
                                 .ordered = false,
                                 .paper = "ACE " ACE_VERSION ", libace-dev",
                                 .is_library = true};
  using WithFarStore::WithFarStore;
};
static_assert(TimerQueue<AceHash>);

}  // namespace timerbench
