// Hierarchical timing wheel driven by a delay queue of buckets, as in Kafka's SystemTimer.
//
// Level 0 has Slots buckets of one tick, level n has Slots buckets of Slots^n ticks. A level is in
// use from the first deadline that needs it. A timer goes to the lowest level whose window, from
// the clock to Slots buckets ahead, holds its deadline. A bucket with timers is queued under the
// instant at which it begins. advance() takes the queued buckets in order: each moves the clock to
// its own instant, fires what is due then, and puts the others back, which lands them on a lower
// level (the cascade).
//
// The clock moves only when a bucket expires, so that empty stretches cost nothing at any distance.
// An idle wheel's clock is therefore stale: a timer armed then may start a level too high and
// cascade once more. A bucket emptied by cancels stays queued until its time and costs an empty
// wakeup. Both are Kafka's behaviour.
//
// However many timers there are, at most Slots buckets of a level are queued. Five levels of 60
// slots of a second, as of seconds, minutes and hours, span 24 years and queue 300 buckets at most;
// in the workload lifetime, 294 for 10^6 timers.
//
// Example: 4 slots a level, granularity 1, start at 0. Buckets are written as [first tick, end).
//   schedule(a, 3)    level 0 holds ticks 1 to 3: a goes to bucket [3, 4)
//   schedule(b, 6)    level 1, buckets of 4 ticks, holds ticks up to 15: b goes to [4, 8)
//   schedule(c, 21)   level 2, buckets of 16 ticks: c goes to [16, 32)
//   next_wakeup()     3
//   advance(3)        a fires; the clock stands at 3
//   advance(5)        bucket [4, 8) began at 4: the clock moves to 4, b cascades to [6, 7)
//   next_wakeup()     6
//   advance(18)       b fires at 6; bucket [16, 32) moves the clock to 16, c cascades to [20, 24)
//   next_wakeup()     20: c is due at 21, so this wakeup fires nothing
//   advance(20)       c cascades to [21, 22)
//   advance(21)       c fires
//
// Invariants:
//   1. hands_[n] is hands_[0] / Slots^n on every level. hands_[0], the wheel's clock, is not after
//      the last advance() and before every queued bucket.
//   2. A pending timer is in overdue_ if it was due by the wheel's clock when it was armed, else in
//      the bucket of one level that contains its granule.
//   3. A bucket with timers is queued. A queued bucket may be empty, through cancels.
//   4. On each level the queued positions are within (hand, hand + Slots), so that a slot stands
//      for one position.
//   5. next_bucket_ is the instant of the first queued bucket, or kNever if there is none.
//   6. overdue_ is empty after every advance() that does not go back in time.
//
// Cost:
//   schedule O(log delay) to the base Slots, a division by a constant a level (a minute of ms has 4
//     levels of 20 slots, 2 of 256): 4 lines (core/index_lists.h), the hands, and for the first
//     timer of a bucket a word of the bitmap; moving a timer adds the lines of cancel
//   cancel O(1): the links of the timer and its two neighbours (3 lines)
//   advance O(fired + cascaded + buckets expired): 2 lines a timer; a timer cascades at most once a
//     level, 5 lines each time
//   next_wakeup O(1): the first queued bucket, an upper one usually earlier than its first timer
//   16 bytes a timer, and 8 a bucket of each level that there can be: 16 KiB for 256 slots
//
// Good: for any mix of delays, above all when most timers are cancelled.
// Bad: when one long advance() hurts: a cascade moves a whole bucket at once, along two chains of
//   dependent misses. Few slots mean many levels and more cascades, many slots mean longer ones.
// Follows: Kafka's SystemTimer, TimingWheel and TimerTaskList; Varghese & Lauck 1987, scheme 7.
//   With 64 slots, a word of the bitmap for each level, it is tokio's wheel too, except that tokio
//   has six levels, puts a timer on the level of the highest digit in which deadline and clock
//   differ, and forgets a bucket that cancels have emptied. Erlang has a wheel for each scheduler,
//   of two levels of 2^14 slots: of 1 ms, and of half the reach of those.
// Deviates: the delay queue is a bitmap of queued buckets on each level, not a heap (a bucket's
//   instant follows from its place, so its key cannot change while it is queued); deadlines are
//   rounded up to the tick, where Kafka rounds them down and fires early (kafka_wheel_floor does
//   that); a far deadline takes as many levels as it needs instead of overflowing; the memory of
//   all levels is there from the beginning, so that no operation has to wait for it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "core/bitmap.h"
#include "core/granularity.h"
#include "core/index_lists.h"
#include "core/joined_name.h"
#include "core/timer_queue.h"

namespace timerbench {

enum class Rounding { up, down };

template <std::size_t Slots, Rounding kRounding = Rounding::up>
class KafkaWheel {
  static_assert(Slots >= 2);

 public:
  static constexpr Traits traits{
      .name = kRounding == Rounding::up ? kSettingName<"kafka_wheel", Slots>
                                        : kSettingName<"kafka_wheel_floor", Slots>,
      .summary = kRounding == Rounding::up ? "hierarchical wheel, delay queue of buckets"
                                           : "the same with Kafka's own rounding",
      .precision = kRounding == Rounding::up ? Precision::granular : Precision::early,
      .ordered = true,
      .paper = "Kafka SystemTimer; Varghese & Lauck 1987, scheme 7"};

  explicit KafkaWheel(const QueueConfig& config)
      : granularity_(config.granularity),
        now_(config.start),
        lists_(config.capacity, 1 + kMaxLevels * Slots),
        overdue_(lists_.add_list()),
        first_bucket_(lists_.add_lists(kMaxLevels * Slots)) {
    Tick position = granularity_.floor(config.start);
    for (Tick& hand : hands_) {
      hand = position;
      position /= Slots;
    }
  }

  void schedule(TimerId id, Tick deadline) {
    ++size_;  // first, so that the usual case, a timer that is not pending, takes no jump
    if (lists_.linked(id)) {
      lists_.unlink(id);
      --size_;
    }
    lists_.set_deadline(id, deadline);
    const Tick position = granule(deadline);
    if (position > hands_[0]) {
      place(id, position);
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
    const Tick tick = granularity_.floor(now);
    const std::size_t before = size_;
    if (!lists_.empty(overdue_)) {
      lists_.drain_in_order(overdue_, [&](TimerId id, Tick at) { fire(id, at, sink); });
    }
    while (next_bucket_ <= tick) expire_buckets(next_bucket_, sink);
    return before - size_;
  }

  Tick next_wakeup() const {
    if (size_ == 0) return kNever;
    return lists_.empty(overdue_) ? granularity_.instant(next_bucket_) : now_;
  }

  std::size_t size() const { return size_; }
  AdvanceWork work() const { return work_; }

  // Buckets that are queued, empty ones too.
  std::size_t queued() const {
    std::size_t queued = 0;
    for (std::size_t level = 0; level < level_count_; ++level) queued += queued_[level].count();
    return queued;
  }

  // The instant at which each level's hand stands, lowest level first.
  std::vector<Tick> hands() const {
    std::vector<Tick> instants;
    for (std::size_t i = 0; i < level_count_; ++i) {
      instants.push_back(granularity_.instant(hands_[i] * kTicks[i]));
    }
    return instants;
  }

  // The instants under which buckets are queued, in order; one for each bucket.
  std::vector<Tick> queued_buckets() const {
    std::vector<Tick> instants;
    for (std::size_t i = 0; i < level_count_; ++i) {
      for (Tick position = hands_[i]; position < hands_[i] + Slots; ++position) {
        if (queued_[i].test(position % Slots)) {
          instants.push_back(granularity_.instant(position * kTicks[i]));
        }
      }
    }
    std::sort(instants.begin(), instants.end());
    return instants;
  }

 private:
  using List = IndexLists::List;

  // Enough levels for the top one to reach the end of time.
  static constexpr std::size_t kMaxLevels = [] {
    std::size_t levels = 1;
    for (Tick reach = kNever; reach >= Slots; reach /= Slots) ++levels;
    return levels;
  }();

  // The ticks of one bucket of each level.
  static constexpr auto kTicks = [] {
    std::array<Tick, kMaxLevels> ticks{1};
    for (std::size_t i = 1; i < kMaxLevels; ++i) ticks[i] = ticks[i - 1] * Slots;
    return ticks;
  }();

  Tick granule(Tick deadline) const {
    return kRounding == Rounding::up ? granularity_.ceil(deadline) : granularity_.floor(deadline);
  }

  // Puts the timer that is due at this position of level 0 into a bucket, and queues the bucket.
  // REQUIRES: position > hands_[0].
  void place(TimerId id, Tick position) {
    const Tick* hand = hands_.data();
    std::size_t first = 0;  // the level's first bucket
    while (position - *hand >= Slots) {
      position /= Slots;
      ++hand;
      first += Slots;
    }
    const std::size_t slot = position % Slots;
    if (lists_.append(bucket(first + slot), id)) {
      const std::size_t level = first / Slots;
      if (level >= level_count_) level_count_ = level + 1;
      queued_[level].set(slot);
      next_bucket_ = std::min(next_bucket_, position * kTicks[level]);
    }
  }

  template <class Sink>
  void fire(TimerId id, Tick deadline, Sink& sink) {
    --size_;
    sink(id, deadline);
  }

  // Moves the clock to the first queued instant and empties the buckets that begin there, at most
  // one on each level. REQUIRES: tick == next_bucket_.
  template <class Sink>
  void expire_buckets(Tick tick, Sink& sink) {
    Tick position = tick;
    for (std::size_t i = 0; i < kMaxLevels && hands_[i] != position; ++i, position /= Slots) {
      hands_[i] = position;
    }

    for (std::size_t i = 0; i < level_count_; ++i) {
      const std::size_t slot = hands_[i] % Slots;
      if (queued_[i].test(slot)) {
        queued_[i].clear(slot);
        lists_.drain(bucket(i * Slots + slot), [&](TimerId id, Tick deadline) {
          const Tick due = granule(deadline);
          if (due > tick) {
            place(id, due);
            ++work_.moved;
            work_.level = static_cast<std::uint32_t>(i);
          } else {
            fire(id, deadline, sink);
          }
        });
      }
      if (slot != 0) break;  // the next level's bucket begins only where this level wraps
    }

    next_bucket_ = kNever;
    for (std::size_t i = 0; i < level_count_; ++i) {
      const Tick next = hands_[i] + 1;
      if (next_bucket_ <= next * kTicks[i]) break;  // nothing from this level on begins earlier
      const std::size_t empty = queued_[i].distance(next % Slots);
      if (empty == queued_[i].kNone) continue;
      next_bucket_ = std::min(next_bucket_, (next + empty) * kTicks[i]);
    }
  }

  // Buckets are numbered through all levels: level * Slots + slot.
  List bucket(std::size_t n) const { return IndexLists::nth(first_bucket_, n); }

  Granularity granularity_;
  Tick now_;
  Tick next_bucket_ = kNever;  // the first queued bucket's granule
  std::size_t size_ = 0;
  IndexLists lists_;
  List overdue_;
  List first_bucket_;  // of level 0; the other levels' follow

  // A bucket's position is the number of its span since time 0; its slot is position % Slots.
  // Queued positions are within (hand, hand + Slots), so a slot stands for one position only. The
  // hands of levels that are not in use yet are kept too.
  std::array<Tick, kMaxLevels> hands_;  // each level's position of the clock
  std::size_t level_count_ = 1;         // in use so far
  std::array<Bitmap<Slots>, kMaxLevels> queued_;

  AdvanceWork work_;
};
static_assert(TimerQueue<KafkaWheel<20>>);

template <std::size_t Slots>
using KafkaWheelFloor = KafkaWheel<Slots, Rounding::down>;

}  // namespace timerbench
