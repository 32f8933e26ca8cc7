// A monotone priority queue whose buckets double in width (Ahuja, Mehlhorn, Orlin & Tarjan 1990).
//
// Nothing comes out that is due before the hand, the last instant that came out, so a queue of
// timers may forget the order of what is farther away. A timer waits in the bucket of the highest
// bit in which its deadline differs from the hand: bucket 1 holds one tick, bucket n holds
// 2^(n - 1). When the first bucket with timers has one that is due, the hand moves to the earliest
// of them. Those that are due then fire and the others go to lower buckets, for they share one bit
// more with the hand.
//
// A queue of Dijkstra's algorithm moves the hand by taking out what is first. Here the hand also
// follows the clock as far as no timer would change its bucket by it.
//
// Example, start at 0. Buckets are written as [first tick, end).
//   schedule(b, 7)    0b111: bucket 3, [4, 8)
//   schedule(a, 5)    0b101: bucket 3
//   schedule(c, 20)   0b10100: bucket 5, [16, 32)
//   next_wakeup()     5
//   advance(5)        a fires; b differs from 0b101 in bit 1: it moves to bucket 2, [6, 8)
//   advance(7)        b fires
//   advance(9)        the hand moves to 9 and c stays where it is: 0b1001 differs from it in bit 4
//   schedule(d, 12)   0b1100 and 0b1001: bucket 3, [12, 16)
//
// Invariants:
//   1. hand_ is not after the last advance().
//   2. A pending timer is in overdue_ if it was due by the hand when it was armed, else in bucket
//      std::bit_width(deadline ^ hand_).
//   3. Bucket n is marked in occupied_ exactly if it has timers. None of them is due before
//      earliest_[n]; one is due then, unless that one was cancelled or moved.
//   4. overdue_ is empty after every advance() that does not go back in time.
//
// Cost:
//   schedule O(1): 4 lines (core/index_lists.h) and the bucket's earliest; moving a timer adds the
//     lines of cancel
//   cancel O(1): the links of the timer and its two neighbours (3 lines)
//   advance O(fired + moved): 2 lines a timer; a timer moves at most n - 1 times out of bucket n, 5
//     lines each time
//   next_wakeup O(1)
//   16 bytes a timer
//
// Good: for exact deadlines when most timers are cancelled before they fire: in the loads cancel and
//   idle_connections of the suite full it costs what a wheel does.
// Bad: when many timers fire: each moves several times before, along chains of dependent misses. A
//   move pauses for a bucket that may hold half of all timers.
// Follows: Ahuja, Mehlhorn, Orlin & Tarjan 1990, the one-level radix heap.
// Deviates: deadlines before the hand are accepted; buckets are as wide as bits, so no table of
//   their bounds is kept; the hand follows the clock.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "core/index_lists.h"
#include "core/timer_queue.h"

namespace timerbench {

class RadixHeap {
 public:
  static constexpr Traits traits{.name = "radix_heap",
                                 .summary = "monotone queue, buckets that double in width",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Ahuja, Mehlhorn, Orlin & Tarjan 1990"};

  explicit RadixHeap(const QueueConfig& config)
      : now_(config.start),
        hand_(config.start),
        lists_(config.capacity, 1 + kBuckets),
        overdue_(lists_.add_list()),
        first_bucket_(lists_.add_lists(kBuckets)) {}

  void schedule(TimerId id, Tick deadline) {
    cancel(id);
    ++size_;
    lists_.set_deadline(id, deadline);
    if (deadline > hand_) {
      place(id, deadline);
    } else {
      lists_.append(overdue_, id);
    }
  }

  bool cancel(TimerId id) {
    if (!lists_.linked(id)) return false;
    --size_;
    const List emptied = lists_.unlink(id);
    if (emptied != IndexLists::kNoList && emptied != overdue_) {
      occupied_ &= ~(Tick{1} << IndexLists::distance(first_bucket_, emptied));
    }
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    const std::size_t before = size_;
    const auto fire = [&](TimerId id, Tick deadline) {
      --size_;
      sink(id, deadline);
    };
    if (!lists_.empty(overdue_)) lists_.drain_in_order(overdue_, fire);
    while (occupied_ != 0 && earliest_[first()] <= now) open(first(), fire);
    const Tick free = occupied_ == 0 ? kNever : (Tick{1} << first()) - 1;
    hand_ = std::min(now, hand_ | free);
    return before - size_;
  }

  Tick next_wakeup() const {
    if (!lists_.empty(overdue_)) return now_;
    return occupied_ == 0 ? kNever : earliest_[first()];
  }

  std::size_t size() const { return size_; }
  std::size_t queued() const { return size_; }
  AdvanceWork work() const { return work_; }

 private:
  using List = IndexLists::List;
  static constexpr std::size_t kBuckets = 64;  // bucket n is number n - 1 in the arrays

  unsigned first() const { return static_cast<unsigned>(std::countr_zero(occupied_)); }

  // REQUIRES: deadline > hand_.
  void place(TimerId id, Tick deadline) {
    const auto bucket = static_cast<unsigned>(std::bit_width(deadline ^ hand_)) - 1;
    if (lists_.append(IndexLists::nth(first_bucket_, bucket), id)) {
      occupied_ |= Tick{1} << bucket;
      earliest_[bucket] = deadline;
    } else {
      earliest_[bucket] = std::min(earliest_[bucket], deadline);
    }
  }

  // Moves the hand to the earliest timer of the bucket, and empties the bucket. REQUIRES: it is the
  // first.
  template <class Fire>
  void open(unsigned bucket, Fire& fire) {
    hand_ = earliest_[bucket];
    occupied_ &= occupied_ - 1;
    lists_.drain(IndexLists::nth(first_bucket_, bucket), [&](TimerId id, Tick deadline) {
      if (deadline == hand_) {
        fire(id, deadline);
      } else {
        place(id, deadline);
        ++work_.moved;
        work_.level = bucket;
      }
    });
  }

  Tick now_;
  Tick hand_;
  std::size_t size_ = 0;
  IndexLists lists_;
  List overdue_;
  List first_bucket_;
  Tick occupied_ = 0;  // a bit for each bucket
  std::array<Tick, kBuckets> earliest_;
  AdvanceWork work_;
};
static_assert(TimerQueue<RadixHeap>);

}  // namespace timerbench
