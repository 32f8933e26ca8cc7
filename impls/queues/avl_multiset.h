// A height-balanced tree ordered by deadline (Adelson-Velsky & Landis 1962), Boost.Intrusive's.
//
// The heights of the two subtrees of a node differ by one at most, so that the tree is flatter than
// a red-black one. Equal deadlines may lie side by side, so that a comparison looks at the deadline
// alone.
//
// Invariants:
//   1. No node comes before one that is due earlier. Of equals, the one armed first comes first.
//   2. The heights of the subtrees of a node differ by one at most: the height is at most
//      1.44 log2(n + 2).
//   3. Those of queues/intrusive_tree.h.
//
// Cost:
//   schedule O(log n): about log2 n lines, each a dependent miss once the tree outgrows the cache;
//     moving a timer adds the lines of cancel
//   cancel O(log n), O(1) expected: the node, its neighbours and those that the rebalancing touches
//   advance O(fired), in order: the timer's line, and those that the rebalancing touches
//   next_wakeup O(1)
//   32 bytes a timer: three links, one of which holds the balance too, and the deadline
//
// Good: as ordered_map, when firing must be cheap and no call may pause. Moving timers later
//   (keepalive) costs a fifth to a third less, the rest is about the same.
// Bad: for arming and moving at random among many timers.
// Follows: Adelson-Velsky & Landis 1962; Solaris' and ZFS' AVL trees.
// Deviates: equal deadlines are allowed, where all three want keys that differ. Nodes are an array
//   by id, where Solaris and ZFS have them within their objects.
#pragma once

#include <boost/intrusive/avl_set.hpp>

#include "core/timer_queue.h"
#include "queues/intrusive_tree.h"

namespace timerbench {

struct AvlNode : boost::intrusive::avl_set_base_hook<
                     boost::intrusive::optimize_size<true>,
                     boost::intrusive::link_mode<boost::intrusive::safe_link>> {
  Tick deadline;

  friend bool operator<(const AvlNode& a, const AvlNode& b) { return a.deadline < b.deadline; }
};

struct AvlMultiset : IntrusiveTree<AvlNode, boost::intrusive::avl_multiset<AvlNode>> {
  static constexpr Traits traits{.name = "avl_multiset",
                                 .summary = "height-balanced tree by deadline",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Adelson-Velsky & Landis 1962"};
  using IntrusiveTree::IntrusiveTree;
};
static_assert(TimerQueue<AvlMultiset>);

}  // namespace timerbench
