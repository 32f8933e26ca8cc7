// A B-tree ordered by (deadline, id): Abseil's absl::btree_set.
//
// A node holds up to 15 timers side by side, so that a search among 10^6 looks at six nodes where a
// binary tree looks at 20. In return a timer has no place that stays: inserting and removing move
// the others of a node. So the deadline of each id is kept in an array, and a timer is found by
// searching for it.
//
// Invariants:
//   1. deadlines_[id] is the deadline of id, or kNever exactly if id is not pending.
//   2. The tree holds (deadlines_[id], id) of each pending timer, and nothing else.
//
// Cost:
//   schedule O(log n): four comparisons that cannot be predicted and about three lines of each node
//     on the way; moving a timer adds a cancel
//   cancel O(log n): the same search
//   advance O(fired), in order: the lines of the nodes in sequence, and the deadline of each timer,
//     one line; what has fired is removed in one piece
//   next_wakeup O(1)
//   30 bytes a timer at random deadlines: 8 for the deadline, and nodes of 256 bytes that are two
//     thirds to all full; one allocation for about 12 timers
//
// Good: for many timers that fire: a fire takes the next entry of an array.
// Bad: for cancelling, which is a search here and none in the other trees.
// Follows: Bayer & McCreight 1972; absl::btree_set, and Rust's BTreeMap, which is like it.
// Deviates: a set knows its keys only, so the deadline of each id is kept beside it. Bayer's and
//   McCreight's nodes are pages of a disk, these are four lines of a cache.
#pragma once

#include <absl/container/btree_set.h>

#include <cassert>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

class BTree {
 public:
  static constexpr Traits traits{.name = "btree",
                                 .summary = "B-tree by (deadline, id)",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Bayer & McCreight 1972; absl::btree_set"};

  explicit BTree(const QueueConfig& config)
      : now_(config.start), deadlines_(config.capacity, kNever) {}

  // Inserts first: if there is no memory for that, all stays as it was.
  void schedule(TimerId id, Tick deadline) {
    assert(id < deadlines_.size());
    if (deadline == deadlines_[id]) return;
    tree_.insert({deadline, id});
    cancel(id);
    deadlines_[id] = deadline;
  }

  bool cancel(TimerId id) {
    assert(id < deadlines_.size());
    if (deadlines_[id] == kNever) return false;
    tree_.erase({deadlines_[id], id});
    deadlines_[id] = kNever;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    std::size_t fired = 0;
    auto first = tree_.begin();
    for (; first != tree_.end() && first->deadline <= now; ++first, ++fired) {
      deadlines_[first->id] = kNever;
      sink(first->id, first->deadline);
    }
    if (fired > 0) tree_.erase(tree_.begin(), first);
    return fired;
  }

  Tick next_wakeup() const { return tree_.empty() ? kNever : tree_.begin()->deadline; }
  std::size_t size() const { return tree_.size(); }
  std::size_t queued() const { return tree_.size(); }

 private:
  struct Key {
    Tick deadline;
    TimerId id;

    friend bool operator<(const Key& a, const Key& b) {
      return a.deadline != b.deadline ? a.deadline < b.deadline : a.id < b.id;
    }
  };

  Tick now_;
  std::vector<Tick> deadlines_;  // by id
  absl::btree_set<Key> tree_;
};
static_assert(TimerQueue<BTree>);

}  // namespace timerbench
