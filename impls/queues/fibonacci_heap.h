// Fibonacci heap (Fredman, Tarjan 1984), Boost.Heap's.
//
// A forest in heap order. Arming adds a root; whatever removes or postpones a timer after it links
// roots of equal degree until none are left.
//
//   arming, moving to an earlier time O(1)      next_wakeup O(1)
//   moving to a later time, cancel, advance O(log n) amortised a timer
//   one allocation a timer; 88 bytes with handle
//
// The best bounds on paper, of interest because papers cite them; large nodes and long pointer
// chains in practice.
#pragma once

#include <boost/heap/fibonacci_heap.hpp>

#include "queues/boost_heap.h"

namespace timerbench {

struct FibonacciHeap : BoostHeap<boost::heap::fibonacci_heap<HeapEntry>> {
  static constexpr Traits traits{.name = "fibonacci_heap",
                                 .summary = "Fibonacci heap with handles (Boost.Heap)",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Fredman, Tarjan 1984"};
  using BoostHeap::BoostHeap;
};
static_assert(TimerQueue<FibonacciHeap>);

}  // namespace timerbench
