// What the trees of Boost.Intrusive share: nodes in an array by id, linked into one tree.
//
// The tree's own code does the work. No operation allocates, and a timer's node is found without a
// search.
//
// Invariants:
//   1. nodes_[id] is in the tree exactly if id is pending.
//   2. A node's deadline changes only while the node is out of the tree.
#pragma once

#include <cassert>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

// Node: a hook in safe_link mode, with a deadline. Tree: a set or multiset of Node, in which no
// node comes before one that is due earlier.
template <class Node, class Tree>
class IntrusiveTree {
 public:
  explicit IntrusiveTree(const QueueConfig& config) : now_(config.start), nodes_(config.capacity) {}
  ~IntrusiveTree() { tree_.clear(); }
  IntrusiveTree(const IntrusiveTree&) = delete;
  IntrusiveTree& operator=(const IntrusiveTree&) = delete;

  void schedule(TimerId id, Tick deadline) {
    assert(id < nodes_.size());
    Node& node = nodes_[id];
    if (node.is_linked()) tree_.erase(tree_.iterator_to(node));
    node.deadline = deadline;
    tree_.insert(node);
  }

  bool cancel(TimerId id) {
    assert(id < nodes_.size());
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
      sink(static_cast<TimerId>(&node - nodes_.data()), node.deadline);
    }
    return fired;
  }

  Tick next_wakeup() const { return tree_.empty() ? kNever : tree_.begin()->deadline; }
  std::size_t size() const { return tree_.size(); }
  std::size_t queued() const { return tree_.size(); }

 private:
  Tick now_;
  std::vector<Node> nodes_;  // by id
  Tree tree_;
};

}  // namespace timerbench
