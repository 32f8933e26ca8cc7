// Implicit d-ary heap, mutable, with handles: Boost.Heap's d_ary_heap of arity 2 and 4.
//
// The heap is an array of pointers to list nodes. Each node knows its place in the array, so that a
// timer can be moved or removed where it is.
//
// Invariants:
//   1. No entry is due before its parent: entry i has parent (i - 1) / Arity.
//   2. A node's place is the index of the entry that points to it. Every swap updates both.
//   3. Those of queues/boost_heap.h.
//
// Cost:
//   schedule O(log n) worst, O(1) for late deadlines, which stay near the leaves
//   cancel O(log n): Boost lifts the entry to the root, then pops it
//   advance O(fired log n): a comparison follows a pointer to a list node, and a step of a sift
//     writes a place into one: two lines a level, cold in a large heap
//   next_wakeup O(1)
//   56 bytes a timer with its handle, 64 with malloc's header: one allocation for each armed timer
//
// Good: as a measure of what a handle costs. Four children to a node halve the levels.
// Bad: for telling what a heap costs: these are the costs of Boost's nodes. index_heap_4, with
//   neither nodes nor handles, is several times as cheap as quad_heap (docs/backends.md).
// Follows: JDK DelayQueue, java.util.Timer and libuv (arity 2), libev (arity 4).
// Deviates: libev and libuv keep the place or the links in the timer itself and cancel more
//   cheaply.
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
