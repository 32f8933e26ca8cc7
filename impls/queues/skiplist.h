// Skip list with spans and back pointers, beside an index by id: a Redis sorted set in memory.
//
// Nodes are ordered by (deadline, id), Redis's (score, member). A node stands in level 0 and, with
// probability 1/4 each, in every level above, at most 32; its height is drawn anew at each
// insertion. A search starts at the header's top level and goes forward while the next node is
// before what it looks for, then down. Each link counts the nodes that it crosses, its span, so a
// rank is a sum along the search. Level 0 also links backward; the header's backward link is the
// tail.
//
// Nodes live in one arena of 16-byte cells: deadline, id and backward link in the first, then one
// link a level. A link carries the deadline of the node it leads to, so that only a step forward or
// a tie touches another node. Cells of removed nodes wait in a free list for each height. The index
// holds the cell of every pending id.
//
//   schedule O(log n): 3 steps forward a level on average, of log4 n levels, each a dependent miss
//     in the lowest levels once these outgrow the cache; moving costs two searches, but one if the
//     timer stays strictly between its neighbours
//   cancel O(log n): one search, as the spans above the node have to shrink
//   advance O(1) a fire, 4/3 links; and once an advance that fires, the header's links
//   next_wakeup O(1)      rank(), at_rank() O(log n)      41 bytes a timer
//
// Good for ordered expiry, and where positions are asked for ("how many fire before this one?").
// Bad for cancelling: it searches, where a linked tree or a wheel unlinks. Followed: Redis's
// zskiplist (t_zset.c); Pugh 1990. Deviations: due nodes leave from the head without a search, and
// the spans above them are put right once for all; a link repeats its target's deadline; cells, not
// pointers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
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

  // REQUIRES: capacity < 1.7e9, so that a cell's number fits 32 bits.
  explicit Skiplist(const QueueConfig& config)
      : now_(config.start), nodes_(config.capacity, kNone) {
    // A node takes 1 + 4/3 cells on average; the rest is for the spread around it.
    cells_.reserve(1 + kMaxHeight + std::size_t{config.capacity} / 2 * 5);
    allocate(kMaxHeight);
    node(kHeader) = {0, 0, kNone};
    link(kHeader, 0) = {kNever, kNone, 0};
  }

  void schedule(TimerId id, Tick deadline) {
    if (const Cell x = nodes_[id]; x != kNone) {
      const Path path = find(node(x).deadline, id);
      if (fits_where_it_is(x, deadline)) {
        retime(path, x, deadline);
        return;
      }
      remove(path, x);
    }
    insert(id, deadline);
  }

  bool cancel(TimerId id) {
    const Cell x = nodes_[id];
    if (x == kNone) return false;
    remove(find(node(x).deadline, id), x);
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    const std::uint32_t before = size_;
    while (size_ > 0 && link(kHeader, 0).deadline <= now) {
      const Cell x = link(kHeader, 0).forward;
      const Node due = node(x);
      pop_front(x);
      sink(due.id, due.deadline);
    }
    const std::uint32_t fired = before - size_;
    if (fired > 0) {
      node(link(kHeader, 0).forward).backward = kHeader;
      for (int i = 0; i < level_; ++i) link(kHeader, i).span -= fired;
      drop_empty_levels();
    }
    return fired;
  }

  Tick next_wakeup() const { return link(kHeader, 0).deadline; }
  std::size_t size() const { return size_; }

  // How many timers come before this one. REQUIRES: id is pending.
  std::size_t rank(TimerId id) const { return find(node(nodes_[id]).deadline, id).rank[0]; }

  // The timer with that many before it. REQUIRES: rank < size().
  TimerId at_rank(std::size_t rank) const {
    Cell x = kHeader;
    std::size_t left = rank + 1;
    for (int i = level_ - 1; left > 0; --i) {
      for (; link(x, i).forward != kNone && link(x, i).span <= left; x = link(x, i).forward) {
        left -= link(x, i).span;
      }
    }
    return node(x).id;
  }

  // In how many levels it stands. REQUIRES: id is pending.
  int height(TimerId id) const {
    const Cell x = nodes_[id];
    const Path path = find(node(x).deadline, id);
    int height = 1;
    while (height < level_ && link(path.before[height], height).forward == x) ++height;
    return height;
  }

  // Levels in use, at least 1.
  int levels() const { return level_; }

  // Throws std::logic_error if an invariant does not hold. O(n log n).
  void check() const;

 private:
  // The number of a node's first cell in the arena. No node is there: the header is.
  using Cell = std::uint32_t;
  static constexpr Cell kHeader = 0;
  static constexpr Cell kNone = 0;

  struct Node {
    Tick deadline;
    TimerId id;
    Cell backward;  // of the header: the tail; of a free node: the next free one
  };

  // A link to kNone has deadline kNever, and its span counts the nodes up to the end.
  struct Link {
    Tick deadline;  // of the node it leads to
    Cell forward;
    std::uint32_t span;
  };

  union NodeOrLink {
    Node node;
    Link link;
  };

  // Of each level, the last node before a place, and how many nodes there are up to that one.
  struct Path {
    std::array<Cell, kMaxHeight> before;
    std::array<std::uint32_t, kMaxHeight> rank;
  };

  Node& node(Cell x) { return cells_[x].node; }
  const Node& node(Cell x) const { return cells_[x].node; }
  Link& link(Cell x, int level) { return cells_[x + 1 + level].link; }
  const Link& link(Cell x, int level) const { return cells_[x + 1 + level].link; }

  // The path to the place of (deadline, id), whether it is there or not.
  Path find(Tick deadline, TimerId id) const {
    Path path;
    Cell x = kHeader;
    std::uint32_t rank = 0;
    for (int i = level_ - 1; i >= 0; --i) {
      for (const Link* next = &link(x, i);
           next->deadline < deadline || (next->deadline == deadline && node(next->forward).id < id);
           next = &link(x, i)) {
        rank += next->span;
        x = next->forward;
        prefetch_below(x, i);
      }
      path.before[i] = x;
      path.rank[i] = rank;
    }
    return path;
  }

  // A search that reached x on this level most likely goes on from one of the next two.
  void prefetch_below(Cell x, int level) const {
    for (int i = std::max(level - 2, 0); i < level; ++i) {
      __builtin_prefetch(&link(link(x, i).forward, i));
    }
  }

  void insert(TimerId id, Tick deadline) {
    Path path = find(deadline, id);
    const int height = draw_height();
    const Cell x = allocate(height);
    for (; level_ < height; ++level_) {
      path.before[level_] = kHeader;
      path.rank[level_] = 0;
      link(kHeader, level_) = {kNever, kNone, size_};
    }

    for (int i = 0; i < height; ++i) {
      Link& before = link(path.before[i], i);
      const std::uint32_t skipped = path.rank[0] - path.rank[i];
      link(x, i) = {before.deadline, before.forward, before.span - skipped};
      before = {deadline, x, skipped + 1};
    }
    for (int i = height; i < level_; ++i) ++link(path.before[i], i).span;

    node(x) = {deadline, id, path.before[0]};
    node(link(x, 0).forward).backward = x;
    nodes_[id] = x;
    ++size_;
  }

  // REQUIRES: `path` leads to x.
  void remove(const Path& path, Cell x) {
    int height = 0;
    for (; height < level_ && link(path.before[height], height).forward == x; ++height) {
      Link& before = link(path.before[height], height);
      const Link& after = link(x, height);
      before = {after.deadline, after.forward, before.span + after.span - 1};
    }
    for (int i = height; i < level_; ++i) --link(path.before[i], i).span;
    node(link(path.before[0], 0).forward).backward = path.before[0];
    drop_empty_levels();
    nodes_[node(x).id] = kNone;
    release(x, height);
    --size_;
  }

  // Takes the first node out of the levels where it stands. Spans of the header still count it, and
  // the new first node's backward link still names it.
  void pop_front(Cell x) {
    int height = 0;
    for (; height < level_ && link(kHeader, height).forward == x; ++height) {
      Link& first = link(kHeader, height);
      const Link& after = link(x, height);
      first = {after.deadline, after.forward, first.span + after.span};
    }
    nodes_[node(x).id] = kNone;
    release(x, height);
    --size_;
  }

  // Strictly between its neighbours' deadlines: with a tie, the ids would decide.
  bool fits_where_it_is(Cell x, Tick deadline) const {
    const Cell previous = node(x).backward;
    return (previous == kHeader || node(previous).deadline < deadline) &&
           deadline < link(x, 0).deadline;
  }

  void retime(const Path& path, Cell x, Tick deadline) {
    node(x).deadline = deadline;
    for (int i = 0; i < level_ && link(path.before[i], i).forward == x; ++i) {
      link(path.before[i], i).deadline = deadline;
    }
  }

  void drop_empty_levels() {
    while (level_ > 1 && link(kHeader, level_ - 1).forward == kNone) --level_;
  }

  // 1 + n with probability 1/4^n: each pair of leading zero bits is a level more.
  int draw_height() { return 1 + std::min(std::countl_zero(random_()) / 2, kMaxHeight - 1); }

  Cell allocate(int height) {
    Cell& free = free_[height - 1];
    Cell x = free;
    if (x != kNone) {
      free = node(x).backward;
    } else {
      x = static_cast<Cell>(cells_.size());
      cells_.resize(cells_.size() + 1 + height);
    }
    return x;
  }

  void release(Cell x, int height) {
    node(x).backward = free_[height - 1];
    free_[height - 1] = x;
  }

  Tick now_;
  std::uint32_t size_ = 0;
  int level_ = 1;
  std::vector<Cell> nodes_;  // by id; kNone: not pending
  std::vector<NodeOrLink> cells_;
  std::array<Cell, kMaxHeight> free_{};  // by height - 1
  // Knuth's MMIX generator, whose leading bits are its good ones.
  std::linear_congruential_engine<std::uint64_t, 6364136223846793005, 1442695040888963407, 0>
      random_;
};
static_assert(TimerQueue<Skiplist>);

inline void Skiplist::check() const {
  const auto require = [](bool holds, const char* invariant) {
    if (!holds) throw std::logic_error(std::string("skiplist: it does not hold that ") + invariant);
  };
  require(1 <= level_ && level_ <= kMaxHeight, "there are 1 to 32 levels");
  require(level_ == 1 || link(kHeader, level_ - 1).forward != kNone, "the top level is not empty");

  std::vector<std::size_t> position(cells_.size());  // by cell, from 1; 0: not in level 0
  Cell last = kHeader;
  std::size_t count = 0;
  for (Cell x; (x = link(last, 0).forward) != kNone; last = x) {
    require(position[x] == 0 && count < size_, "level 0 ends");
    require(nodes_[node(x).id] == x, "the index knows each node");
    require(node(x).backward == last, "backward is the reverse of forward");
    position[x] = ++count;
  }
  require(count == size_, "level 0 has every node");
  require(node(kHeader).backward == last, "the tail is the last node");
  const auto indexed =
      std::count_if(nodes_.begin(), nodes_.end(), [](Cell x) { return x != kNone; });
  require(static_cast<std::size_t>(indexed) == size_, "the index knows nothing else");

  std::size_t used = 1 + kMaxHeight + size_;  // cells
  for (int i = 0; i < level_; ++i) {
    std::size_t crossed = 0;
    for (Cell x = kHeader;;) {
      const Link& next = link(x, i);
      crossed += next.span;
      if (next.forward == kNone) {
        require(next.deadline == kNever, "the end is later than every deadline");
        break;
      }
      require(next.deadline == node(next.forward).deadline, "a link knows its target's deadline");
      require(position[next.forward] == crossed,
              "a span counts the nodes of level 0 that it crosses");
      if (x != kHeader) {
        const Node& a = node(x);
        const Node& b = node(next.forward);
        require(a.deadline < b.deadline || (a.deadline == b.deadline && a.id < b.id),
                "each level is ordered by (deadline, id)");
      }
      x = next.forward;
      ++used;
    }
    require(crossed == size_, "the spans of a level add up to the length");
  }
  for (std::size_t i = 0; i < free_.size(); ++i) {
    for (Cell x = free_[i]; x != kNone; x = node(x).backward) used += 2 + i;
  }
  require(used == cells_.size(), "every cell is used or free");

  for (std::size_t n = 0; n < size_; ++n) {
    require(rank(at_rank(n)) == n, "rank() and at_rank() are inverse");
  }
}

}  // namespace timerbench
