// Calendar queue: buckets as days of a year, each a sorted list, sized by what is pending.
//
// Time is cut into days of equal width, and a year has as many days as there are buckets. A timer
// goes to the bucket of its day, whatever its year, behind those that are not due later. The first
// timer is sought from the hand, day by day: it is the first of a bucket's list that is due within
// the hand's own year. After a year without one, the first timers of all buckets are compared.
//
// When the timers are more than twice as many as the buckets, the buckets are doubled, and when
// they are fewer than half, halved. The width is then estimated anew: three times the mean
// separation of the first timers, at most 25, without the separations that are more than twice as
// long as the mean. All timers are put into their new buckets.
//
// Example: 2 buckets, days of 1 tick, start at 0.
//   schedule(a, 1)    day 1: bucket 1
//   schedule(b, 11)   day 11: bucket 1, behind a
//   schedule(c, 21)   day 21: bucket 1, behind b
//   schedule(d, 100)  day 100: bucket 0
//   schedule(e, 31)   5 timers are more than 4: 4 buckets. The separations of a, b, c, e and d are
//                     10, 10, 10 and 69, their mean 24.75; without the 69, 10: days of 30 ticks.
//                     a, b and c in bucket 0, e in bucket 1, d (day 3) in bucket 3
//   advance(1)        a fires; the next one is b, in the hand's day
//   next_wakeup()     11
//
// Invariants:
//   1. A pending timer is in the list of bucket (day % buckets), where its day is (deadline /
//      width) or, if it was due already when it was armed, (now / width). Each list is in the order
//      of deadlines.
//   2. No pending timer is due before the hand's day, but for those that were due when armed, which
//      are in the list of that day or of a later one.
//   3. next_ is not after the first deadline. Only a cancel or a move makes it earlier.
//   4. There are at most twice as many timers as buckets, and half as many or 2 fewer at least; or
//      there are 2 buckets.
//
// Cost:
//   schedule O(1) if the width is right, a division by it: 4 lines (core/index_lists.h), and 2 for
//     each timer of the bucket that is due later; O(n) if the width is wrong, or to resize
//   cancel O(1): the links of the timer and its two neighbours (3 lines); O(n) to resize
//   advance O(fired) if the width is right: 2 lines a day; O(n) for each instant that fires if it
//     is wrong, or to resize
//   next_wakeup O(1): the first deadline, or that of a cancelled timer before it
//   16 bytes a timer, and 4 to 8 for the buckets
//
// Good: for a steady load of delays that are spread evenly, where every day has a timer or two.
// Bad: when the separation of the first timers says little of the others. The width stays wrong
//   until the next resize, and then days are too short (the hand passes a year of empty buckets for
//   one fire) or too long (an insert walks a long list). Delays whose density rises (triangular)
//   make days too long, and the more timers, the longer. Delays of which half are 1 to 3 ticks and
//   half up to 10^9 make them too short, with 10^4 and 10^5 timers; with 10^6 the near ones are many
//   enough. The suite delays shows it (docs/backends.md). When many timers are due already when they are
//   armed: they are all of one day, and each walks past those of it that are due later (16 us for
//   each of 20 000). And when no call may pause: a resize to 10^6 timers takes 38 ms.
// Follows: Brown 1988, Calendar queues.
// Deviates: an insert walks the list from its end, which equal and rising delays want; ticks are
//   whole numbers, so the width is at least 1; a timer that is due already is put into the day of
//   the clock, for the search would otherwise begin at its deadline; a timer that is earlier than
//   the hand takes the hand back.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <span>

#include "core/index_lists.h"
#include "core/timer_queue.h"

namespace timerbench {

class CalendarQueue {
 public:
  static constexpr Traits traits{.name = "calendar_queue",
                                 .summary = "days of a year, each a sorted list; resized",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Brown 1988"};

  explicit CalendarQueue(const QueueConfig& config)
      : now_(config.start),
        lists_(config.capacity, 1 + most_buckets(config.capacity)),
        moving_(lists_.add_list()),
        first_bucket_(lists_.add_lists(most_buckets(config.capacity))) {
    set_hand(now_);
  }

  void schedule(TimerId id, Tick deadline) {
    if (lists_.linked(id)) {
      lists_.unlink(id);
    } else {
      ++size_;
    }
    lists_.set_deadline(id, deadline);
    insert(id);
    next_ = std::min(next_, deadline);
    if (size_ > 2 * buckets_) resize(2 * buckets_);
  }

  bool cancel(TimerId id) {
    if (!lists_.linked(id)) return false;
    remove(id);
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    std::size_t fired = 0;
    while (next_ <= now) {
      const std::optional<TimerId> id = find_first();
      next_ = id ? lists_.deadline(*id) : kNever;
      if (next_ > now) break;
      remove(*id);
      ++fired;
      sink(*id, next_);
    }
    now_ = now;
    return fired;
  }

  Tick next_wakeup() const { return size_ == 0 ? kNever : std::max(next_, now_); }
  std::size_t size() const { return size_; }
  std::size_t queued() const { return size_; }
  AdvanceWork work() const { return work_; }

  std::size_t buckets() const { return buckets_; }
  Tick width() const { return width_; }

 private:
  using List = IndexLists::List;

  static std::size_t most_buckets(TimerId capacity) {
    return std::max<std::size_t>(2, std::bit_ceil(std::size_t{capacity}) / 2);
  }

  List bucket(Tick day) const { return IndexLists::nth(first_bucket_, day % buckets_); }

  void set_hand(Tick instant) {
    day_ = instant / width_;
    day_begin_ = day_ * width_;
  }

  void insert(TimerId id) {
    const Tick instant = std::max(lists_.deadline(id), now_);
    if (instant < day_begin_) set_hand(instant);
    lists_.insert_sorted(bucket(instant / width_), id);
  }

  void remove(TimerId id) {
    lists_.unlink(id);
    --size_;
    if (size_ + 2 < buckets_ / 2) resize(buckets_ / 2);
  }

  // The timer that is due first, if there is one; moves the hand to its day.
  std::optional<TimerId> find_first() {
    if (size_ == 0) return std::nullopt;
    const auto is_of_the_day = [&](TimerId id) {
      return lists_.deadline(id) < day_begin_ || lists_.deadline(id) - day_begin_ < width_;
    };
    for (std::size_t i = 0; i < buckets_; ++i) {
      const auto first = lists_.first(bucket(day_));
      if (first && is_of_the_day(*first)) return first;
      if (day_begin_ >= kNever - width_) break;  // the last day there is
      ++day_;
      day_begin_ += width_;
      ++work_.passed;
    }
    // Nothing is due in a year from the hand.
    std::optional<TimerId> first;
    for (std::size_t i = 0; i < buckets_; ++i) {
      const auto other = lists_.first(bucket(i));
      if (other && (!first || lists_.deadline(*other) < lists_.deadline(*first))) first = other;
    }
    work_.passed += buckets_;
    set_hand(std::max(lists_.deadline(*first), now_));
    return first;
  }

  // Takes the first timers, estimates the width by them, and puts all into their new buckets.
  void resize(std::size_t buckets) {
    const Tick hand = day_begin_;
    std::array<Tick, kMostSamples> deadlines;
    const std::size_t samples = std::min(size_ <= 5 ? size_ : 5 + size_ / 10, kMostSamples);
    for (std::size_t i = 0; i < samples; ++i) {
      const TimerId first = *find_first();
      deadlines[i] = lists_.deadline(first);
      lists_.unlink(first);
      lists_.append(moving_, first);
    }
    for (std::size_t i = 0; i < buckets_; ++i) lists_.splice(bucket(i), moving_);
    width_ = estimated_width({deadlines.data(), samples});
    buckets_ = buckets;
    set_hand(hand);
    work_.moved += size_;
    lists_.drain(moving_, [&](TimerId id, Tick) { insert(id); });
  }

  // REQUIRES: the deadlines are in order.
  static Tick estimated_width(std::span<const Tick> deadlines) {
    if (deadlines.size() < 2) return 1;
    const double mean = static_cast<double>(deadlines.back() - deadlines.front()) /
                        static_cast<double>(deadlines.size() - 1);
    double sum = 0;
    double count = 0;
    for (std::size_t i = 1; i < deadlines.size(); ++i) {
      const auto separation = static_cast<double>(deadlines[i] - deadlines[i - 1]);
      if (separation > 2 * mean) continue;
      sum += separation;
      ++count;
    }
    return static_cast<Tick>(std::clamp(3 * sum / count, 1.0, 0x1p63));
  }

  static constexpr std::size_t kMostSamples = 25;

  Tick now_;  // during advance(), still that of the advance() before
  Tick next_ = kNever;
  Tick width_ = 1;
  Tick day_ = 0;  // the hand's, counted from time 0
  Tick day_begin_ = 0;
  std::size_t buckets_ = 2;
  std::size_t size_ = 0;
  IndexLists lists_;
  List moving_;  // of a resize
  List first_bucket_;
  AdvanceWork work_;
};
static_assert(TimerQueue<CalendarQueue>);

}  // namespace timerbench
