// ACE's timer heap: a binary heap of pointers to nodes, and a table of where each is.
//
// ACE_Timer_Heap_T runs, as ace/timers.h drives it; it is what ACE's reactors use. A tick is a
// millisecond. Timers of the next 2^62 ticks are the library's, and others wait in
// core/far_store.h.
//
// Invariants:
//   1. A timer that has a handle is in the library's queue, under its deadline.
//
// Cost:
//   schedule O(log n), and an allocation: the node's two lines, and three lines of those that it
//     passes a level: the node, its entry, and its place in the table of handles
//   cancel O(log n): the same, and what the allocator does
//   advance O(fired log n), and a virtual call for each that fires
//   next_wakeup O(1)
//   129 bytes a timer: a node, an entry and a place in the arrays that double, the handle, the
//     deadline, and a place in the array of those that fired
//
// Good: where ACE runs anyway, for some thousand timers.
// Bad: for many: each comparison of the heap follows a pointer to a node.
// Follows: ACE 7.0, ace/Timer_Heap_T.cpp.
// Deviates: it has no lock, where a reactor's has a recursive mutex.
#pragma once

#include <ace/Timer_Heap_T.h>

#include "core/far_store.h"
#include "core/timer_queue.h"
#include "peers/ace/timers.h"

namespace timerbench {

class AceHeap : public WithFarStore<AceTimers<ACE_Timer_Heap_T>> {
 public:
  static constexpr Traits traits{.name = "ace_heap",
                                 .summary = "ACE's timer heap: a binary heap of pointers",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "ACE " ACE_VERSION ", libace-dev",
                                 .is_library = true};
  using WithFarStore::WithFarStore;
};
static_assert(TimerQueue<AceHeap>);

}  // namespace timerbench
