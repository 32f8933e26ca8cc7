// A balanced tree ordered by (deadline, id).
//
// A red-black tree (Boost.Intrusive) whose nodes are an array indexed by id, so that no operation
// allocates and a timer's node is found without a search. The leftmost node is cached.
//
// Invariants:
//   1. nodes_[id] is in the tree exactly if id is pending.
//   2. The tree is ordered by (deadline, id), so no two keys are equal. A node's deadline changes
//      only while the node is out of the tree.
//   3. No red node has a red child, and every path from the root to a leaf crosses as many black
//      nodes: the height is at most 2 log2(n + 1).
//
// Cost:
//   schedule O(log n): about log2 n lines, each a dependent miss once the tree outgrows the cache;
//     moving a timer adds the lines of cancel
//   cancel O(1) on average: the node, its neighbours and those that the rebalancing touches
//   advance O(fired), in order
//   next_wakeup O(1)
//   32 bytes a timer: three links, one of which holds the colour too, and the deadline
//
// Good: when firing must be cheap (it needs no search) and no call may pause.
// Bad: for arming and moving at random among many timers.
// Follows: nginx (ngx_event_timer) and Linux hrtimer, both intrusive red-black trees; hrtimer
//   caches the minimum too.
#pragma once

#include <boost/intrusive/set.hpp>
#include <memory>

#include "core/timer_queue.h"

namespace timerbench {

class OrderedMap {
 public:
  static constexpr Traits traits{.name = "ordered_map",
                                 .summary = "red-black tree by (deadline, id)",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "nginx, Linux hrtimer"};

  explicit OrderedMap(const QueueConfig& config)
      : now_(config.start), nodes_(std::make_unique<Node[]>(config.capacity)) {}
  ~OrderedMap() { tree_.clear(); }
  OrderedMap(const OrderedMap&) = delete;
  OrderedMap& operator=(const OrderedMap&) = delete;

  void schedule(TimerId id, Tick deadline) {
    Node& node = nodes_[id];
    if (node.is_linked()) tree_.erase(tree_.iterator_to(node));
    node.deadline = deadline;
    tree_.insert(node);
  }

  bool cancel(TimerId id) {
    Node& node = nodes_[id];
    if (!node.is_linked()) return false;
    tree_.erase(tree_.iterator_to(node));
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    std::size_t fired = 0;
    for (auto first = tree_.begin(); first != tree_.end() && first->deadline <= now; ++fired) {
      const Node& node = *first;
      first = tree_.erase(first);
      sink(static_cast<TimerId>(&node - nodes_.get()), node.deadline);
    }
    return fired;
  }

  Tick next_wakeup() const { return tree_.empty() ? kNever : tree_.begin()->deadline; }
  std::size_t size() const { return tree_.size(); }
  std::size_t queued() const { return tree_.size(); }

 private:
  using Hook =
      boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>,
                                      boost::intrusive::link_mode<boost::intrusive::safe_link>>;

  struct Node : Hook {
    Tick deadline;

    // Nodes are ordered like their ids.
    friend bool operator<(const Node& a, const Node& b) {
      return a.deadline != b.deadline ? a.deadline < b.deadline : &a < &b;
    }
  };

  Tick now_;
  std::unique_ptr<Node[]> nodes_;
  boost::intrusive::set<Node> tree_;
};
static_assert(TimerQueue<OrderedMap>);

}  // namespace timerbench
