// Skip list with spans and back pointers, beside an index by id: a Redis sorted set in memory.
//
// Nodes are in the order of (deadline, id), Redis's (score, member). A node stands in level 0 and,
// with probability 1/4 each, in every level above, at most 32; its height is drawn anew at each
// insertion. A search starts at the header's top level and goes forward while the next node comes
// before what it looks for, then down. Each link counts the nodes that it crosses, its span, so
// that a rank is a sum along a search.
//
// All nodes are in one array of 8-byte cells: deadline, identity, and a link for each level, which
// is 24 bytes for three nodes in four. check() tests the invariants.
//
// Invariants:
//   1. Level 0 has a node for each pending timer. Each level is in the order of (deadline, id), and
//      every node of a level is in all levels below.
//   2. A link's span is the number of nodes of level 0 from its node, exclusive, to the next,
//      inclusive; the last link's counts those up to the end. The spans of a level add up to
//      size().
//   3. Every level is circular: it begins and ends at the header, whose deadline is kNever.
//   4. On level 0 the backward links are the reverse of the forward links. The header's backward
//      link is the tail.
//   5. nodes_[id] is the node of id, or kNone exactly if id is not pending.
//   6. 1 <= levels_ <= 32, and the top level has a node unless it is level 0.
//   7. Every cell is the header's, a pending timer's or in the free list of its node's height.
//
// Cost:
//   schedule O(log n): 3 steps forward on each of log4 n levels, a line each; the lowest two or
//     three levels are dependent misses once the list outgrows the cache. Then the node's own line,
//     the next one's, and the index. Moving searches twice, but not at all if the timer stays
//     strictly between its neighbours (4 lines)
//   cancel O(log n): the same search, because the spans above the node have to shrink
//   advance O(1) a fire: the node (1 or 2 lines) and the index; then, once, the header's links
//   next_wakeup O(1)
//   rank, at_rank O(log n)
//   32 bytes a timer, reserved at once; nodes come in blocks of 64 of one height, so with fewer than
//     some thousand timers more is allocated when the first of a height is armed
//
// Good: when timers fire in order, and where positions are asked for: how many fire before this
//   one?
// Bad: for cancelling, which searches, where a linked tree or a wheel unlinks.
// Follows: Redis's zskiplist (t_zset.c); Pugh 1990. DPDK's rte_timer has such a list for each core,
//   and locks for timers that another core arms: services/sharded.h over this queue.
// Deviates: due timers leave at the head without a search, and the header's spans are corrected
//   once for all of them; levels are circular, where Redis ends them with NULL.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

class Skiplist {
 public:
  static constexpr Traits traits{.name = "skiplist",
                                 .summary = "skip list with spans, 32 levels, p = 1/4",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Redis zskiplist; Pugh 1990"};

  static constexpr int kMaxHeight = 32;

  // REQUIRES: capacity < 1.2e9, so that the number of a cell fits 32 bits.
  explicit Skiplist(const QueueConfig& config)
      : now_(config.start), nodes_(config.capacity, kNone) {
    // A node takes 2 + 4/3 cells on average; the rest is for the spread around it.
    cells_.reserve(2 + kMaxHeight + std::size_t{config.capacity} / 2 * 7);
    cells_.resize(2 + kMaxHeight);
    deadline_of(kHeader) = kNever;
    backward(kHeader) = kNone;
    link(kHeader, 0) = {kNone, 0};
  }

  void schedule(TimerId id, Tick deadline) {
    assert(id < nodes_.size());
    const NodeIndex x = nodes_[id];
    if (x != kNone && fits_where_it_is(x, deadline)) {
      deadline_of(x) = deadline;
      return;
    }
    const int height = draw_height();
    if (free_[height - 1] == kNone)
      add_free_nodes(height);  // may throw: nothing has changed so far
    if (x != kNone) remove(x);
    insert(id, deadline, height);
  }

  bool cancel(TimerId id) {
    assert(id < nodes_.size());
    const NodeIndex x = nodes_[id];
    if (x == kNone) return false;
    remove(x);
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    const std::uint32_t before = size_;
    for (NodeIndex x; (x = link(kHeader, 0).forward) != kNone && deadline_of(x) <= now;) {
      const Tick deadline = deadline_of(x);
      const TimerId id = id_of(x);
      pop_front(x);
      sink(id, deadline);
    }
    const std::uint32_t fired = before - size_;
    if (fired > 0) {
      backward(link(kHeader, 0).forward) = kHeader;
      for (int i = 0; i < levels_; ++i) link(kHeader, i).span -= fired;
      drop_empty_levels();
    }
    return fired;
  }

  Tick next_wakeup() const { return deadline_of(link(kHeader, 0).forward); }
  std::size_t size() const { return size_; }
  std::size_t queued() const { return size_; }

  // How many timers come before this one. REQUIRES: id is pending.
  std::size_t rank(TimerId id) const { return path_to(nodes_[id]).rank[0]; }

  // The timer that has `rank` timers before it. REQUIRES: rank < size().
  TimerId at_rank(std::size_t rank) const {
    NodeIndex x = kHeader;
    std::size_t left = rank + 1;
    for (int i = levels_ - 1; left > 0; --i) {
      for (; link(x, i).forward != kNone && link(x, i).span <= left; x = link(x, i).forward) {
        left -= link(x, i).span;
      }
    }
    return id_of(x);
  }

  // The number of levels that it is in. REQUIRES: id is pending.
  int height(TimerId id) const {
    const NodeIndex x = nodes_[id];
    const Path path = path_to(x);
    int height = 1;
    while (height < levels_ && link(path.before[height], height).forward == x) ++height;
    return height;
  }

  // Levels in use, at least 1.
  int levels() const { return levels_; }

  // Throws std::logic_error if an invariant does not hold. O(n log n).
  void check() const;

 private:
  // The number of a node's first cell.
  using NodeIndex = std::uint32_t;
  static constexpr NodeIndex kHeader = 0;
  static constexpr NodeIndex kNone = kHeader;  // levels are circular, so both ends are the header

  struct Link {
    NodeIndex forward;
    std::uint32_t span;  // to kNone: the nodes up to the end
  };

  struct Identity {
    TimerId id;
    NodeIndex backward;  // of the header: the tail; of a free node: the next free one
  };

  // A node's first cell is its deadline, the second its identity, the others its links. A cell
  // keeps its part for ever, because a freed node is only reused at its own height.
  union Cell {
    Tick deadline;
    Identity identity;
    Link link;
  };

  // For each level, the last node before a place, and the number of nodes up to that node.
  struct Path {
    std::array<NodeIndex, kMaxHeight> before;
    std::array<std::uint32_t, kMaxHeight> rank;
  };

  Tick& deadline_of(NodeIndex x) { return cells_[x].deadline; }
  Tick deadline_of(NodeIndex x) const { return cells_[x].deadline; }
  TimerId& id_of(NodeIndex x) { return cells_[x + 1].identity.id; }
  TimerId id_of(NodeIndex x) const { return cells_[x + 1].identity.id; }
  NodeIndex& backward(NodeIndex x) { return cells_[x + 1].identity.backward; }
  NodeIndex backward(NodeIndex x) const { return cells_[x + 1].identity.backward; }
  Link& link(NodeIndex x, int level) { return cells_[x + 2 + level].link; }
  const Link& link(NodeIndex x, int level) const { return cells_[x + 2 + level].link; }

  // The header has deadline kNever, so nothing is after it.
  bool before(NodeIndex x, Tick deadline, TimerId id) const {
    return deadline_of(x) < deadline || (deadline_of(x) == deadline && id_of(x) < id);
  }

  // The path to the place of (deadline, id), whether it is there or not.
  Path find(Tick deadline, TimerId id) const {
    Path path;
    NodeIndex x = kHeader;
    std::uint32_t rank = 0;
    for (int i = levels_ - 1; i >= 0; --i) {
      while (true) {
        const Link next = link(x, i);
        if (i > 0) __builtin_prefetch(&cells_[link(x, i - 1).forward]);  // where it may go on
        if (!before(next.forward, deadline, id)) break;
        rank += next.span;
        x = next.forward;
      }
      path.before[i] = x;
      path.rank[i] = rank;
    }
    return path;
  }

  Path path_to(NodeIndex x) const { return find(deadline_of(x), id_of(x)); }

  // REQUIRES: a node of this height is free.
  void insert(TimerId id, Tick deadline, int height) {
    Path path = find(deadline, id);
    const NodeIndex x = std::exchange(free_[height - 1], backward(free_[height - 1]));
    for (; levels_ < height; ++levels_) {
      path.before[levels_] = kHeader;
      path.rank[levels_] = 0;
      link(kHeader, levels_) = {kNone, size_};
    }

    for (int i = 0; i < height; ++i) {
      Link& before = link(path.before[i], i);
      const std::uint32_t skipped = path.rank[0] - path.rank[i];
      link(x, i) = {before.forward, before.span - skipped};
      before = {x, skipped + 1};
    }
    for (int i = height; i < levels_; ++i) ++link(path.before[i], i).span;

    deadline_of(x) = deadline;
    id_of(x) = id;
    backward(x) = path.before[0];
    backward(link(x, 0).forward) = x;
    nodes_[id] = x;
    ++size_;
  }

  void remove(NodeIndex x) {
    const Path path = path_to(x);
    int height = 0;
    for (; height < levels_ && link(path.before[height], height).forward == x; ++height) {
      Link& before = link(path.before[height], height);
      before = {link(x, height).forward, before.span + link(x, height).span - 1};
    }
    for (int i = height; i < levels_; ++i) --link(path.before[i], i).span;
    backward(link(x, 0).forward) = backward(x);
    drop_empty_levels();
    release(x, height);
  }

  // Takes the first node out of the levels where it stands. The header's spans still count it, and
  // the new first node's backward link still names it: advance() corrects both once for all fires.
  void pop_front(NodeIndex x) {
    int height = 0;
    for (; height < levels_ && link(kHeader, height).forward == x; ++height) {
      Link& first = link(kHeader, height);
      first = {link(x, height).forward, first.span + link(x, height).span};
      __builtin_prefetch(&cells_[first.forward]);  // due about 4^height fires from now
    }
    release(x, height);
  }

  // Strictly between its neighbours' deadlines: with a tie, the ids would decide.
  bool fits_where_it_is(NodeIndex x, Tick deadline) const {
    const NodeIndex previous = backward(x);
    return (previous == kHeader || deadline_of(previous) < deadline) &&
           deadline < deadline_of(link(x, 0).forward);
  }

  void drop_empty_levels() {
    while (levels_ > 1 && link(kHeader, levels_ - 1).forward == kNone) --levels_;
  }

  // 1 + n with probability 1/4^n: each pair of leading zero bits is a level more.
  int draw_height() { return 1 + std::min(std::countl_zero(random_()) / 2, kMaxHeight - 1); }

  // Nodes of one height lie together, so that the few tall ones, which every search crosses, share
  // cache lines and pages with each other and not with all the rest.
  void add_free_nodes(int height) {
    constexpr std::size_t kNodes = 64;
    const std::size_t first = cells_.size();
    cells_.resize(first + kNodes * static_cast<std::size_t>(2 + height));
    for (std::size_t x = cells_.size(); x > first;) {
      x -= 2 + height;
      backward(x) = std::exchange(free_[height - 1], static_cast<NodeIndex>(x));
    }
  }

  void release(NodeIndex x, int height) {
    nodes_[id_of(x)] = kNone;
    backward(x) = free_[height - 1];
    free_[height - 1] = x;
    --size_;
  }

  Tick now_;
  std::uint32_t size_ = 0;
  int levels_ = 1;
  std::vector<NodeIndex> nodes_;  // by id; kNone: not pending
  std::vector<Cell> cells_;
  std::array<NodeIndex, kMaxHeight> free_{};  // by height - 1
  // Knuth's MMIX generator, whose leading bits are its good ones.
  std::linear_congruential_engine<std::uint64_t, 6364136223846793005, 1442695040888963407, 0>
      random_;
};
static_assert(TimerQueue<Skiplist>);

inline void Skiplist::check() const {
  const auto require = [](bool holds, const char* invariant) {
    if (!holds) throw std::logic_error(std::string("skiplist: it does not hold that ") + invariant);
  };
  require(1 <= levels_ && levels_ <= kMaxHeight, "there are 1 to 32 levels");
  require(levels_ == 1 || link(kHeader, levels_ - 1).forward != kNone,
          "the top level is not empty");
  require(deadline_of(kHeader) == kNever, "the end is later than every deadline");

  std::vector<std::size_t> position(cells_.size());  // by node, from 1; 0: not in level 0
  NodeIndex last = kHeader;
  std::size_t count = 0;
  for (NodeIndex x; (x = link(last, 0).forward) != kNone; last = x) {
    require(position[x] == 0 && count < size_, "level 0 ends");
    require(nodes_[id_of(x)] == x, "the index knows each node");
    require(backward(x) == last, "backward is the reverse of forward");
    position[x] = ++count;
  }
  require(count == size_, "level 0 has every node");
  require(backward(kHeader) == last, "the tail is the last node");
  const auto unknown = std::count(nodes_.begin(), nodes_.end(), kNone);
  require(nodes_.size() - unknown == size_, "the index knows nothing else");

  std::size_t used = 2 + kMaxHeight + std::size_t{2} * size_;  // cells
  for (int i = 0; i < levels_; ++i) {
    NodeIndex x = kHeader;
    std::size_t crossed = link(x, i).span;
    for (NodeIndex next; (next = link(x, i).forward) != kNone; x = next) {
      require(position[next] == crossed, "a span counts the nodes of level 0 that it crosses");
      require(x == kHeader || before(x, deadline_of(next), id_of(next)),
              "each level is in the order of (deadline, id)");
      crossed += link(next, i).span;
      ++used;
    }
    require(crossed == size_, "the spans of a level add up to the length");
  }
  for (std::size_t i = 0; i < free_.size(); ++i) {
    for (NodeIndex x = free_[i]; x != kNone; x = backward(x)) used += 3 + i;
  }
  require(used == cells_.size(), "every cell is in use or free");

  for (std::size_t n = 0; n < size_; ++n) {
    require(rank(at_rank(n)) == n, "rank() and at_rank() are inverse");
  }
}

}  // namespace timerbench
