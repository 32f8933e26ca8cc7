// Fibonacci heap (Fredman, Tarjan 1984), Boost.Heap's.
//
// A forest of trees in heap order. Arming adds a root. Firing, cancelling and moving to a later
// time link roots of equal degree until none are left.
//
// Invariants:
//   1. No node is due before its parent.
//   2. The top is one of the roots, and none is due before it.
//   3. Those of queues/boost_heap.h.
//
// Cost:
//   schedule O(1) for a new timer, O(1) amortised for a move to an earlier time,
//     O(log n) amortised for a move to a later one
//   cancel O(log n) amortised
//   advance O(fired log n) amortised: links and children are pointers, most of them cold
//   next_wakeup O(1)
//   80 bytes a timer with its handle, 88 with malloc's header: one allocation for each armed timer
//
// Good: for arming when little fires. Its bounds are the best on paper, so papers cite it.
// Bad: when timers fire or are cancelled: large nodes and long chains of pointers.
// Follows: Fredman & Tarjan 1984.
// Deviates: a move to a later time, which the paper has not, makes roots of the node and its
//   children, and links the roots as a fire does.
#pragma once

#include <boost/heap/fibonacci_heap.hpp>

#include "queues/boost_heap.h"

namespace timerbench {

struct FibonacciHeap
    : BoostHeap<boost::heap::fibonacci_heap<HeapEntry, boost::heap::constant_time_size<false>>> {
  static constexpr Traits traits{.name = "fibonacci_heap",
                                 .summary = "Fibonacci heap with handles (Boost.Heap)",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Fredman, Tarjan 1984"};
  using BoostHeap::BoostHeap;
};
static_assert(TimerQueue<FibonacciHeap>);

}  // namespace timerbench
