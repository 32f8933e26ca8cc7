// Pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986), Boost.Heap's.
//
// One tree in heap order whose nodes have any number of children. Arming hangs the new node below
// the root, or the root below the new node. Removing a node merges its children in pairs.
//
// Invariants:
//   1. No node is due before its parent, so none is due before the root.
//   2. Those of queues/boost_heap.h.
//
// Cost:
//   schedule O(1) for a new timer; moving O(log n) amortised
//   cancel O(log n) amortised; a timer without children is only unlinked
//   advance O(fired log n) amortised: all that was armed since the last fire is merged then, along
//     pointers, most of them cold
//   next_wakeup O(1)
//   64 bytes a timer with its handle, 72 with malloc's header: one allocation for each armed timer
//
// Good: when timers are armed and cancelled and few of them fire.
// Bad: when they fire.
// Follows: Fredman et al. 1986.
// Deviates: Boost merges children in pairs, then the results in pairs, until one tree is left: the
//   paper's multipass variant. Its main one merges pairs once, then all of them in a row.
#pragma once

#include <boost/heap/pairing_heap.hpp>

#include "queues/boost_heap.h"

namespace timerbench {

struct PairingHeap
    : BoostHeap<boost::heap::pairing_heap<HeapEntry, boost::heap::constant_time_size<false>>> {
  static constexpr Traits traits{.name = "pairing_heap",
                                 .summary = "pairing heap with handles (Boost.Heap)",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Fredman et al. 1986"};
  using BoostHeap::BoostHeap;

  // Boost destroys the tree by recursion, as deep as the tree: timers that are each due before the
  // one armed last form a chain, which would overflow the stack. Cancelling does not recurse.
  ~PairingHeap() { cancel_all(); }
};
static_assert(TimerQueue<PairingHeap>);

}  // namespace timerbench
