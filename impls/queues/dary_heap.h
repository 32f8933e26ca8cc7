// Implicit d-ary heap, mutable, with handles: Boost.Heap's d_ary_heap of arity 2 and 4.
//
// The heap is an array of pointers to list nodes, each of which knows its place in the array, so
// that a timer can be moved or removed where it is.
//
//   schedule O(log n) worst, O(1) for late deadlines, which stay near the leaves
//   cancel O(log n): Boost lifts the entry to the root, then pops it
//   advance O(fired log n)      next_wakeup O(1)      one allocation a timer; 64 bytes with handle
//
// Every comparison follows a pointer, and every step of a sift writes a place back into a list
// node: two cold lines a level. Four children to a node halve the levels. Good for a few thousand
// timers that fire; bad for cancelling among many. Followed: JDK DelayQueue and java.util.Timer,
// libuv (arity 2), libev (arity 4), which keep their place in the element itself and cancel more
// cheaply.
#pragma once

#include <boost/heap/d_ary_heap.hpp>

#include "queues/boost_heap.h"

namespace timerbench {

template <int Arity>
using MutableDaryHeap =
    boost::heap::d_ary_heap<HeapEntry, boost::heap::arity<Arity>, boost::heap::mutable_<true>>;

struct BinaryHeap : BoostHeap<MutableDaryHeap<2>> {
  static constexpr Traits traits{.name = "binary_heap",
                                 .summary = "implicit binary heap with handles (Boost.Heap)",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "JDK DelayQueue, java.util.Timer, libuv"};
  using BoostHeap::BoostHeap;
};
static_assert(TimerQueue<BinaryHeap>);

struct QuadHeap : BoostHeap<MutableDaryHeap<4>> {
  static constexpr Traits traits{.name = "quad_heap",
                                 .summary = "implicit 4-ary heap with handles (Boost.Heap)",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "libev"};
  using BoostHeap::BoostHeap;
};
static_assert(TimerQueue<QuadHeap>);

}  // namespace timerbench
