// Segments of at most 16 timers, found by a radix tree.
//
// A segment holds the timers of a span of time, unsorted. Its key is where the span begins; the
// span ends where the next segment's begins, and a radix tree finds the segment of a deadline. A
// full segment is split at the median of its deadlines, and two neighbours are joined when they
// have no more than 12 timers together. Segments are sorted only when they fire, 16 at a time.
//
// Deadlines that are all equal cannot be split. A full segment of them hands its timers down to a
// chain of full segments below it, and is empty again. What is cancelled in the chain is replaced
// from the top, so the chain stays full.
//
// Example: start at 0. 16 timers for the ticks 10, 20, ... 160 are in the first segment, whose key
// is 0.
//   schedule(a, 15)     it is full: 90 to 160 go to a new segment with the key 90; a joins 10 to 80
//   schedule(b, 89)     to the first one, whose span ends at 90
//   cancel 130 to 160   4 and 10 timers are left
//   cancel 80 and 89    4 and 8 timers: the segments are joined, and the key 90 is gone
//
// Invariants:
//   1. The keys of the tree are those of the segments that are in no chain. The first one's is 0.
//   2. A segment's deadlines are not before its key, and before the key of the next one.
//   3. The segments of a chain are full. All in it and in the segment above it have one deadline.
//   4. No segment but the first is empty. Two neighbours without chains have more than 12 timers.
//   5. home_[id] is the segment of a timer, or kNone if it is not pending.
//   6. next_ is not after the first deadline.
//
// Cost:
//   schedule O(log n): the tree (core/radix_tree.h), 3 lines of the segment, one for its home; a
//     split, one in 8, moves half a segment. Moving a timer adds the lines of cancel
//   cancel O(1): 4 lines of the segment, one of each neighbour, one for its home; to join, and in a
//     chain, the tree too
//   advance O(fired + the segments that end), each 4 lines and a step through the tree
//   next_wakeup O(1): the first deadline, or that of a cancelled timer before it
//   55 bytes a timer are reserved, since segments may be nearly empty. 18 to 29 are in use, least for
//     equal deadlines: 13 to 23 of its segment, 4 for its home, the rest of the tree
//
// Good: for many timers that must be exact, in little memory: it costs a part of ordered_map.
// Bad: for cancelling alone, as segments are joined; and for a few thousand timers, where a fire and
//   insert cost as much as in a tree.
// Follows: Redis' buckets of what expires, as described: a radix tree of segments of at most 16
//   items.
// Deviates: only the idea is taken from there, not the code. Keys have the full resolution of a
//   tick, so that timers fire on time. A timer carries no links; it is found by its id. How
//   segments are split, joined and chained is our own.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/index_pool.h"
#include "core/radix_tree.h"
#include "core/timer_queue.h"

namespace timerbench {

class SegmentTree {
 public:
  static constexpr Traits traits{.name = "segment_tree",
                                 .summary = "radix tree of segments of at most 16 timers",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Redis' expiry buckets"};

  explicit SegmentTree(const QueueConfig& config)
      : now_(config.start),
        home_(config.capacity, kNone),
        segments_(std::make_unique_for_overwrite<Segment[]>(most_segments(config.capacity))),
        used_segments_(most_segments(config.capacity)),
        tree_(most_segments(config.capacity)) {
    tree_.insert(0, kFirst);
    new_segment(kNone, kNone);
  }

  void schedule(TimerId id, Tick deadline) {
    assert(id < home_.size());
    if (home_[id] == kNone) {
      ++size_;
    } else {
      remove(id);
    }
    Index at = tree_.find(deadline);
    const Segment& segment = segments_[at];
    if (segment.count < kMost && segment.more == kNone) {
      add(at, id, deadline);
    } else {
      insert_into_full(at, id, deadline);
    }
    next_ = std::min(next_, deadline);
  }

  bool cancel(TimerId id) {
    assert(id < home_.size());
    if (home_[id] == kNone) return false;
    remove(id);
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    const std::size_t before = size_;
    while (next_ <= now) {
      const Index first = segments_[kFirst].count > 0 ? kFirst : segments_[kFirst].next;
      if (first == kNone) {
        next_ = kNever;
      } else {
        next_ = *std::ranges::min_element(deadlines(first));
        if (next_ <= now) fire_due(first, sink);
      }
    }
    return before - size_;
  }

  Tick next_wakeup() const { return size_ == 0 ? kNever : std::max(next_, now_); }
  std::size_t size() const { return size_; }

  // The segments, those of chains included.
  std::size_t segments() const { return used_segments_.in_use(); }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};
  static constexpr Index kInChain = kNone - 1;  // in `previous`
  static constexpr Index kFirst = 0;
  static constexpr std::size_t kMost = 16;  // timers of a segment
  static constexpr std::size_t kJoin = 12;  // timers of two that are joined

  struct Segment {
    std::array<Tick, kMost> deadlines;
    std::array<TimerId, kMost> ids;
    std::uint32_t count;
    Index previous;
    Index next;
    Index more;  // the chain below
  };

  // Two neighbours have 13 timers at least, or 18 with a chain of one; an insert adds one.
  static std::size_t most_segments(TimerId capacity) { return capacity / 6 + 4; }

  std::span<const Tick> deadlines(Index at) const {
    return std::span(segments_[at].deadlines).first(segments_[at].count);
  }

  void add(Index at, TimerId id, Tick deadline) {
    Segment& segment = segments_[at];
    segment.deadlines[segment.count] = deadline;
    segment.ids[segment.count++] = id;
    home_[id] = at;
  }

  // Puts the last timer of the segment at the place of another.
  void drop(Segment& segment, std::size_t i) {
    --segment.count;
    segment.deadlines[i] = segment.deadlines[segment.count];
    segment.ids[i] = segment.ids[segment.count];
  }

  // Moves the timers that are due at `least` or later, in order of their places.
  void move_from(Index from, Tick least, Index to) {
    Segment& segment = segments_[from];
    for (std::size_t i = segment.count; i-- > 0;) {
      if (segment.deadlines[i] < least) continue;
      add(to, segment.ids[i], segment.deadlines[i]);
      drop(segment, i);
    }
  }

  // Inserts into a segment that is full or has a chain.
  void insert_into_full(Index at, TimerId id, Tick deadline) {
    Segment& segment = segments_[at];
    auto sorted = segment.deadlines;
    const auto end = sorted.begin() + segment.count;
    std::sort(sorted.begin(), end);
    const Tick first = sorted.front();
    if (first == *(end - 1) && deadline == first) {
      if (segment.count == kMost) hand_down(at);
      add(at, id, deadline);
      return;
    }
    // Where the new segment begins: at the median, or where deadlines differ first.
    Tick key = std::max(first, deadline);
    if (first != *(end - 1)) {
      const Tick median = sorted[kMost / 2];
      key = median != first ? median : *std::upper_bound(sorted.begin(), end, first);
    }
    const Index right = add_segment(key, at);
    if (first >= key) std::swap(segment.more, segments_[right].more);
    move_from(at, key, right);
    add(deadline >= key ? right : at, id, deadline);
    join_neighbours(right);
    join_neighbours(at);
  }

  // Puts the timers of a full segment into a new one on top of its chain.
  void hand_down(Index at) {
    const Index below = new_segment(kInChain, kNone);
    segments_[below].more = std::exchange(segments_[at].more, below);
    move_from(at, 0, below);
  }

  // Takes the timers of the topmost segment of the chain. REQUIRES: at is empty and has a chain.
  void take_up(Index at) {
    const Index below = segments_[at].more;
    segments_[at].more = segments_[below].more;
    move_from(below, 0, at);
    used_segments_.give_back(below);
  }

  void remove(TimerId id) {
    Index at = std::exchange(home_[id], kNone);
    Segment& segment = segments_[at];
    const auto place =
        static_cast<std::size_t>(std::ranges::find(segment.ids, id) - segment.ids.begin());
    if (segment.previous != kInChain) {
      drop(segment, place);
    } else {
      const Index top = tree_.find(segment.deadlines[place]);
      Segment& other = segments_[top];
      segment.ids[place] = other.ids[--other.count];
      home_[segment.ids[place]] = at;
      at = top;
    }
    after_removal(at);
  }

  void after_removal(Index at) {
    if (segments_[at].count == 0 && segments_[at].more != kNone) take_up(at);
    join_neighbours(at);
  }

  Index new_segment(Index previous, Index next) {
    const Index at = used_segments_.take();
    Segment& segment = segments_[at];
    segment.count = 0;
    segment.previous = previous;
    segment.next = next;
    segment.more = kNone;
    return at;
  }

  // A new segment behind another.
  Index add_segment(Tick key, Index before) {
    const Index behind = segments_[before].next;
    const Index at = new_segment(before, behind);
    segments_[before].next = at;
    if (behind != kNone) segments_[behind].previous = at;
    tree_.insert(key, at);
    return at;
  }

  void join_neighbours(Index at) {
    const Index before = segments_[at].previous;
    if (joins(before, at)) at = before;
    joins(at, segments_[at].next);
  }

  // Joins two neighbours, if there are two, and if they are to be joined.
  bool joins(Index left, Index right) {
    if (left == kNone || right == kNone) return false;
    Segment& from = segments_[right];
    const bool is_small = segments_[left].more == kNone && from.more == kNone &&
                          segments_[left].count + from.count <= kJoin;
    if (!is_small && from.count > 0) return false;
    move_from(right, 0, left);
    tree_.erase(tree_.key(right));
    segments_[left].next = from.next;
    if (from.next != kNone) segments_[from.next].previous = left;
    used_segments_.give_back(right);
    return true;
  }

  // Fires what is due in a segment, in order. The next one of a chain takes its place, if there is
  // one.
  template <class Sink>
  void fire_due(Index at, Sink& sink) {
    Segment& segment = segments_[at];
    std::array<std::pair<Tick, TimerId>, kMost> due;
    std::size_t count = 0;
    for (std::size_t i = segment.count; i-- > 0;) {
      if (segment.deadlines[i] > now_) continue;
      due[count++] = {segment.deadlines[i], segment.ids[i]};
      home_[segment.ids[i]] = kNone;
      drop(segment, i);
    }
    size_ -= count;
    after_removal(at);
    const auto fires = std::span(due).first(count);
    std::ranges::sort(fires);
    for (const auto& [deadline, id] : fires) sink(id, deadline);
  }

  Tick now_;
  Tick next_ = kNever;
  std::size_t size_ = 0;
  std::vector<Index> home_;
  std::unique_ptr<Segment[]> segments_;
  IndexPool used_segments_;
  RadixTree tree_;
};
static_assert(TimerQueue<SegmentTree>);

}  // namespace timerbench
