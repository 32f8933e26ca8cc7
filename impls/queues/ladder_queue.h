// Ladder queue: timers are sorted only when they are near, through buckets that get finer.
//
// Top is an unsorted list of what is far. When the clock comes to it, Top is spread over a rung of
// buckets of equal width, and what is due later than all of that begins a new Top. The clock takes
// the buckets of a rung in order. A bucket of more than 50 timers is spread over a rung of its own,
// of 64 buckets, and a smaller one is sorted into Bottom, a list in the order of deadlines, from
// which timers fire. So there is a ladder of rungs, each of which covers one bucket of the rung
// above it, the one in which the clock stands.
//
// A timer that is armed goes to Top if it is due after all rungs, else to the first rung on which
// its bucket was not taken yet, else to Bottom. If it would have to pass more than 50 timers there,
// Bottom is spread over a new rung.
//
// Example: start at 0. 100 timers are armed for the ticks 20, 40, ... 2000: they go to Top.
//   advance(20)       1980 / 100 is below 32: Top is spread over buckets of 32 ticks. Bucket
//                     [0, 32) is taken, and 20 fires
//   next_wakeup()     32, when the next bucket is taken; its first timer is due at 40
//   schedule(a, 30)   to Bottom, for the bucket was taken
//   schedule(b, 60)   to bucket [32, 64)
//   schedule(c, 2001) to Top
//   advance(51)       a fires; bucket [32, 64) is sorted into Bottom, and 40 fires
//   next_wakeup()     60
//
// Invariants:
//   1. A pending timer is in overdue_ if it was due when it was armed; in Top if there is no rung
//      or it is due after the first rung's last instant; else in its bucket on the first rung whose
//      hand is not after that bucket; else in Bottom.
//   2. Each rung below the first covers the bucket before the hand of the rung above. No hand is
//      after the first bucket that begins after the clock.
//   3. Bottom is in the order of deadlines. All of it is due before the lowest rung's hand.
//   4. A bucket with timers is marked in used_. A marked bucket may be empty, through cancels.
//   5. A rung below another has buckets of a 64th of its width, but of 1 tick at least. So there
//      are at most 12 rungs. The timers of a bucket of 1 tick have one deadline; it is never
//      spread.
//   6. No timer of Top is due before top_min_ or after top_max_, and none at all before next_.
//
// Cost:
//   schedule O(rungs), mostly 1 or 2: 4 lines (core/index_lists.h), and the bitmap for a rung; at
//     most 50 timers of Bottom are passed. Moving a timer adds the lines of cancel
//   cancel O(1): the links of the timer and its two neighbours (3 lines)
//   advance O(fired + moved): 2 lines a timer; a timer moves at most once a rung, 5 lines each time
//   next_wakeup O(1): the first deadline, or earlier: when the first bucket begins, or when a timer
//     was due that is cancelled
//   16 bytes a timer, 8 for each of the first 4096, and 7 KiB
//
// Good: for any mix of delays that must be exact. What is cancelled while it is far was never
//   sorted. Skew does not hurt: in the suite delays, with 10^4 to 10^6 timers, a fire and insert
//   cost 0.1 to 0.9 of ordered_map's for exponential and triangular delays, and where half are 1 to
//   3 ticks and half up to 10^9. The last two make calendar_queue collapse.
// Bad: when one advance() must be short: Top is spread in one, which takes 57 ms for 10^6 timers
//   that are all due 30 to 60 s ahead. And when ticks are many and timers few.
// Follows: Tang, Goh, Thng 2005, Ladder queue.
// Deviates: widths are powers of two, so that a bucket is found by a shift, and a rung below the
//   first has 64 buckets, not 50. The first has not as many as timers, but at most 4097: to append
//   to more costs more misses than a further rung. A hand does not skip empty buckets ahead of the
//   clock, since a timer may be armed for them; a bitmap finds the next one. The timers of a bucket
//   are counted when it is taken. The number of rungs has no other limit than the widths. Timers
//   can be cancelled and moved.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <vector>

#include "core/bitmap.h"
#include "core/index_lists.h"
#include "core/timer_queue.h"

namespace timerbench {

class LadderQueue {
 public:
  static constexpr Traits traits{.name = "ladder_queue",
                                 .summary = "unsorted top, rungs of buckets, sorted bottom",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Tang, Goh, Thng 2005"};

  explicit LadderQueue(const QueueConfig& config)
      : now_(config.start),
        first_rung_(std::clamp<std::size_t>(config.capacity, kBuckets, kMostBuckets)),
        lists_(config.capacity, 3 + first_of(kMostRungs)),
        overdue_(lists_.add_list()),
        top_(lists_.add_list()),
        bottom_(lists_.add_list()),
        first_bucket_(lists_.add_lists(first_of(kMostRungs))) {}

  void schedule(TimerId id, Tick deadline) {
    if (lists_.linked(id)) {
      lists_.unlink(id);
    } else {
      ++size_;
    }
    lists_.set_deadline(id, deadline);
    next_ = std::min(next_, deadline);
    if (deadline > now_) {
      place(id, deadline);
    } else {
      lists_.append(overdue_, id);
    }
  }

  bool cancel(TimerId id) {
    if (!lists_.linked(id)) return false;
    lists_.unlink(id);
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    if (now < next_) return 0;
    const std::size_t before = size_;
    const auto fire = [&](TimerId id, Tick deadline) {
      --size_;
      sink(id, deadline);
    };
    if (!lists_.empty(overdue_)) lists_.drain_in_order(overdue_, fire);
    fire_bottom(fire);
    while (true) {
      if (rungs_in_use_ == 0) {
        if (size_ == 0 || top_min_ > now) break;
        spread_top();
      } else if (const std::size_t bucket = next_bucket(lowest());
                 bucket != kNone && begin(lowest(), bucket) <= now) {
        take(bucket, fire);
      } else if (now < lowest().last) {
        lowest().hand = bucket_of(lowest(), now) + 1;
        break;
      } else {
        --rungs_in_use_;
      }
    }
    next_ = next_work();
    return before - size_;
  }

  Tick next_wakeup() const { return size_ == 0 ? kNever : std::max(next_, now_); }
  std::size_t size() const { return size_; }
  std::size_t queued() const { return size_; }
  AdvanceWork work() const { return work_; }

  // The ticks of a bucket of each rung, from the first to the lowest.
  std::vector<Tick> widths() const {
    std::vector<Tick> widths;
    for (std::size_t i = 0; i < rungs_in_use_; ++i) widths.push_back(Tick{1} << rungs_[i].shift);
    return widths;
  }

 private:
  using List = IndexLists::List;

  static constexpr std::size_t kThreshold = 50;  // timers that are worth a rung: more than these
  static constexpr std::size_t kBuckets = 64;    // of a rung below the first
  static constexpr std::size_t kMostBuckets = 4096;  // of the first, and one more
  static constexpr unsigned kFiner = std::countr_zero(kBuckets);
  static constexpr std::size_t kMostRungs = 1 + (63 + kFiner - 1) / kFiner;
  static constexpr std::size_t kBits = kMostBuckets + 1 + (kMostRungs - 1) * kBuckets;
  static constexpr std::size_t kNone = Bitmap<kBits>::kNone;

  // Bucket i, counted over the buckets of all rungs, covers 2^shift ticks from
  // start + (i - first) * 2^shift on.
  struct Rung {
    Tick start;
    Tick last;  // that it covers
    unsigned shift;
    std::size_t first;  // of its buckets
    std::size_t end;    // of its buckets
    std::size_t hand;   // the buckets before this one were taken
  };

  // The first bucket of a rung.
  std::size_t first_of(std::size_t rung) const {
    return rung == 0 ? 0 : first_rung_ + 1 + (rung - 1) * kBuckets;
  }

  static std::size_t bucket_of(const Rung& rung, Tick instant) {
    return rung.first + ((instant - rung.start) >> rung.shift);
  }

  static Tick begin(const Rung& rung, std::size_t bucket) {
    return rung.start + (Tick{bucket - rung.first} << rung.shift);
  }

  Rung& lowest() { return rungs_[rungs_in_use_ - 1]; }

  List list(std::size_t bucket) const { return IndexLists::nth(first_bucket_, bucket); }

  // The first marked bucket from the hand on, or kNone.
  std::size_t next_bucket(const Rung& rung) const {
    const std::size_t bucket = used_.next(rung.hand);
    return bucket < rung.end ? bucket : kNone;
  }

  // The first deadline, or an earlier instant, at which a bucket or Top begins. REQUIRES: overdue_
  // is empty.
  Tick next_work() const {
    if (size_ == 0) return kNever;
    if (const auto first = lists_.first(bottom_)) return lists_.deadline(*first);
    for (std::size_t i = rungs_in_use_; i-- > 0;) {
      const std::size_t bucket = next_bucket(rungs_[i]);
      if (bucket != kNone) return begin(rungs_[i], bucket);
    }
    return top_min_;
  }

  // REQUIRES: the deadline is after the last advance(), or not before the lowest rung's hand.
  void place(TimerId id, Tick deadline) {
    if (rungs_in_use_ == 0 || deadline > rungs_[0].last) {
      const bool is_first = lists_.append(top_, id);
      top_min_ = is_first ? deadline : std::min(top_min_, deadline);
      top_max_ = is_first ? deadline : std::max(top_max_, deadline);
      return;
    }
    for (std::size_t i = 0; i < rungs_in_use_; ++i) {
      const std::size_t bucket = bucket_of(rungs_[i], deadline);
      if (bucket < rungs_[i].hand) continue;
      if (lists_.append(list(bucket), id)) used_.set(bucket);
      return;
    }
    if (lists_.insert_sorted(bottom_, id, kThreshold)) return;
    add_rung();
    lowest().hand = bucket_of(lowest(), now_) + 1;
    move(bottom_);
    place(id, deadline);
  }

  // Places the timers of a list anew.
  void move(List from) {
    lists_.drain(from, [&](TimerId id, Tick deadline) {
      place(id, deadline);
      ++work_.moved;
    });
  }

  // REQUIRES: there is no rung, and Top is not empty.
  void spread_top() {
    const std::size_t buckets = std::min(size_, first_rung_);
    const auto shift =
        std::min(63U, static_cast<unsigned>(std::bit_width((top_max_ - top_min_) / buckets)));
    const Tick start = top_min_ >> shift << shift;  // so that no bucket ends after all time
    rungs_[rungs_in_use_++] = {.start = start,
                               .last = top_max_,
                               .shift = shift,
                               .first = 0,
                               .end = first_of(1),
                               .hand = 0};
    move(top_);
  }

  // A rung for the bucket that was taken last. REQUIRES: that is of more than a tick.
  void add_rung() {
    const Rung& above = lowest();
    const Tick start = begin(above, above.hand - 1);
    rungs_[rungs_in_use_] = {.start = start,
                             .last = std::min(above.last, start + ((Tick{1} << above.shift) - 1)),
                             .shift = above.shift > kFiner ? above.shift - kFiner : 0,
                             .first = first_of(rungs_in_use_),
                             .end = first_of(rungs_in_use_ + 1),
                             .hand = first_of(rungs_in_use_)};
    ++rungs_in_use_;
  }

  // REQUIRES: the bucket is the lowest rung's next, and Bottom is empty.
  template <class Fire>
  void take(std::size_t bucket, Fire& fire) {
    Rung& rung = lowest();
    rung.hand = bucket + 1;
    used_.clear(bucket);
    if (rung.shift == 0) {
      lists_.drain(list(bucket), fire);
    } else if (lists_.more_than(list(bucket), kThreshold)) {
      add_rung();
      work_.level = static_cast<std::uint32_t>(rungs_in_use_ - 1);
      move(list(bucket));
    } else {
      lists_.sort(list(bucket));
      lists_.splice(list(bucket), bottom_);
      fire_bottom(fire);
    }
  }

  template <class Fire>
  void fire_bottom(Fire& fire) {
    for (auto id = lists_.first(bottom_); id && lists_.deadline(*id) <= now_;
         id = lists_.first(bottom_)) {
      lists_.unlink(*id);
      fire(*id, lists_.deadline(*id));
    }
  }

  Tick now_;
  Tick next_ = kNever;     // the first deadline, or earlier
  Tick top_min_ = kNever;  // of Top, or earlier
  Tick top_max_ = 0;       // of Top, or later
  std::size_t size_ = 0;
  // Buckets of the first rung. One more is needed because the first begins before top_min_.
  std::size_t first_rung_;
  IndexLists lists_;
  List overdue_;
  List top_;
  List bottom_;
  List first_bucket_;
  std::array<Rung, kMostRungs> rungs_;
  std::size_t rungs_in_use_ = 0;
  Bitmap<kBits> used_;
  AdvanceWork work_;
};
static_assert(TimerQueue<LadderQueue>);

}  // namespace timerbench
