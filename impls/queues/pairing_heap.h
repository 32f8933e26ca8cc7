// Pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986), Boost.Heap's.
//
// A tree in heap order whose nodes have any number of children. Arming hangs the new node below the
// root, or the root below it; removing a node merges its children in pairs.
//
//   arming O(1)      next_wakeup O(1)      moving, cancel, advance O(log n) amortised a timer
//   one allocation a timer; 72 bytes with handle
//
// Good when timers are armed and cancelled without ever being ordered. Bad when they fire: the
// merge of all that came since the last fire is paid then, along pointers.
#pragma once

#include <boost/heap/pairing_heap.hpp>

#include "queues/boost_heap.h"

namespace timerbench {

struct PairingHeap : BoostHeap<boost::heap::pairing_heap<HeapEntry>> {
  static constexpr Traits traits{.name = "pairing_heap",
                                 .summary = "pairing heap with handles (Boost.Heap)",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Fredman et al. 1986"};
  using BoostHeap::BoostHeap;

  // Boost destroys the tree by recursion, as deep as the tree: timers armed each before the last
  // form a chain that would overflow the stack. Cancelling needs no recursion, and no order either.
  ~PairingHeap() { cancel_all(); }
};
static_assert(TimerQueue<PairingHeap>);

}  // namespace timerbench
