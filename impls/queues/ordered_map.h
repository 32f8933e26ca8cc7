// A balanced tree ordered by (deadline, id).
//
// A red-black tree (Boost.Intrusive) whose nodes are an array indexed by id, so that no operation
// allocates and a timer's node is found without a search. The leftmost node is cached.
//
// Invariants:
//   1. The tree is ordered by (deadline, id), so no two keys are equal.
//   2. No red node has a red child, and every path from the root to a leaf crosses as many black
//      nodes: the height is at most 2 log2(n + 1).
//   3. Those of queues/intrusive_tree.h.
//
// Cost:
//   schedule O(log n): about log2 n lines, each a dependent miss once the tree outgrows the cache;
//     moving a timer adds the lines of cancel
//   cancel O(1) on average: the node, its neighbours and those that the rebalancing touches
//   advance O(fired), in order: the timer's line, and those that the rebalancing touches
//   next_wakeup O(1)
//   32 bytes a timer: three links, one of which holds the colour too, and the deadline
//
// Good: when firing must be cheap (it needs no search) and no call may pause.
// Bad: for arming and moving at random among many timers.
// Follows: nginx (ngx_event_timer) and Linux hrtimer, both intrusive red-black trees; hrtimer
//   caches the minimum too.
// Deviates: nodes are an array by id, where both have them within their objects. Equal deadlines
//   are in the order of ids, there in that of arming. nginx walks down to the first node, and
//   leaves a timer where it is that moves by less than 300 ms.
#pragma once

#include <boost/intrusive/set.hpp>

#include "core/timer_queue.h"
#include "queues/intrusive_tree.h"

namespace timerbench {

struct RedBlackNode
    : boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>,
                                      boost::intrusive::link_mode<boost::intrusive::safe_link>> {
  Tick deadline;

  // Nodes are ordered like their ids.
  friend bool operator<(const RedBlackNode& a, const RedBlackNode& b) {
    return a.deadline != b.deadline ? a.deadline < b.deadline : &a < &b;
  }
};

struct OrderedMap : IntrusiveTree<RedBlackNode, boost::intrusive::set<RedBlackNode>> {
  static constexpr Traits traits{.name = "ordered_map",
                                 .summary = "red-black tree by (deadline, id)",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "nginx, Linux hrtimer"};
  using IntrusiveTree::IntrusiveTree;
};
static_assert(TimerQueue<OrderedMap>);

}  // namespace timerbench
