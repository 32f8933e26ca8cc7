// Hierarchical timing wheel that never cascades: the wheel of the Linux kernel since 4.8.
//
// Each level has 64 buckets, and those of level n are 8^n ticks long. A timer goes to the lowest
// level that reaches its deadline, into the first bucket that begins at or after it. It fires when
// that bucket begins, and so is never moved. The price is lateness: a timer far ahead waits for the
// next multiple of its level's bucket. Most time-outs are cancelled, so hardly one pays it.
//
// A level reaches less than 63 of its buckets ahead. The clock may be within a bucket and deadlines
// are rounded up, so the farthest timer is in the 64th bucket that begins after the clock; a 65th
// would share its slot with the first. So a timer of level n is at least 63 * 8^(n-1) ticks ahead
// and is less than 8^n ticks late: 8/63 of its delay, 12.7 %.
//
// Example: granularity 1, start at 0. Buckets are named by the tick at which they begin.
//   schedule(a, 62)    level 0 reaches 62 ticks ahead: a goes to bucket 62
//   schedule(b, 66)    level 1 has buckets of 8 ticks: b goes to bucket 72
//   schedule(c, 1000)  level 2 has buckets of 64 ticks: c goes to bucket 1024
//   next_wakeup()      62
//   advance(62)        a fires
//   advance(66)        nothing happens
//   advance(72)        b fires, 6 ticks late
//   next_wakeup()      1024
//   advance(1024)      c fires, 24 ticks late
//
// Invariants:
//   1. clock_ is the granule of the last advance(), or of the start.
//   2. A pending timer is in the bucket at which its level begins one at or after its granule. What
//      was due when it was armed is in the bucket of level 0 at the clock.
//   3. A bucket is marked in pending_ exactly if it has timers.
//   4. On level 0 the buckets with timers begin 0 to 62 ticks after the clock; on the others they
//      are the 1st to the 64th that begin after it. So a slot stands for one bucket.
//
// Cost:
//   schedule O(1): 4 lines (core/index_lists.h) and a word of the bitmap; moving a timer adds the
//     lines of cancel
//   cancel O(1): the links of the timer and its two neighbours (3 lines); the last of a bucket also
//     clears the bucket's mark
//   advance O(fired + levels whose hand has moved): one level in most ticks; 2 lines a timer
//   next_wakeup O(levels in use), exact
//   16 bytes a timer, and 11 KiB for the buckets of all levels
//
// Good: for time-outs, above all many: no advance() does more than fire.
// Bad: when a timer has to fire on time. A bucket fires as a whole, so far deadlines come in herds.
// Follows: Linux 4.8 (Gleixner 2016), kernel/time/timer.c.
// Deviates: 21 levels instead of 8 or 9, which reach the end of time: Linux fires what is beyond
//   its last level early. A deadline is rounded up, where Linux adds a whole bucket, for its clock
//   may be anywhere within a tick. The clock is that of the last advance() and does not lag.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "core/bitmap.h"
#include "core/granularity.h"
#include "core/index_lists.h"
#include "core/timer_queue.h"

namespace timerbench {

class LinuxWheel {
 public:
  static constexpr Traits traits{.name = "linux_wheel",
                                 .summary = "levels that are eight times coarser, no cascade",
                                 .precision = Precision::relative,
                                 .ordered = false,
                                 .paper = "Linux 4.8, Gleixner 2016"};

  explicit LinuxWheel(const QueueConfig& config)
      : granularity_(config.granularity),
        end_(granularity_.floor(kNever - 1)),
        now_(config.start),
        clock_(granularity_.floor(config.start)),
        lists_(config.capacity, kLevels * kSlots),
        first_bucket_(lists_.add_lists(kLevels * kSlots)) {}

  void schedule(TimerId id, Tick deadline) {
    cancel(id);
    ++size_;
    lists_.set_deadline(id, deadline);
    const Tick due = std::max(granularity_.ceil(deadline), clock_);
    const unsigned level = level_of(due - clock_);
    const Tick position = ((due - 1) >> shift(level)) + 1;  // rounded up
    if (lists_.append(bucket(level, position % kSlots), id)) {
      pending_[level].set(position % kSlots);
      level_count_ = std::max(level_count_, level + 1);
    }
  }

  bool cancel(TimerId id) {
    if (!lists_.linked(id)) return false;
    if (const List emptied = lists_.unlink(id); emptied != IndexLists::kNoList) {
      const std::size_t number = IndexLists::distance(first_bucket_, emptied);
      pending_[number / kSlots].clear(number % kSlots);
    }
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    const std::size_t before = size_;
    const Tick last_clock = std::exchange(clock_, granularity_.floor(now));
    Tick first = last_clock;
    for (unsigned level = 0; level < level_count_ && first <= hand(level); ++level) {
      fire_buckets(level, first, sink);
      first = (last_clock >> shift(level + 1)) + 1;
    }
    return before - size_;
  }

  Tick next_wakeup() const {
    if (size_ == 0) return kNever;
    Tick next = kNever;
    Tick first = clock_;
    for (unsigned level = 0; level < level_count_ && begin(level, first) < next; ++level) {
      const std::size_t empty = pending_[level].distance(first % kSlots);
      if (empty != pending_[level].kNone) next = std::min(next, begin(level, first + empty));
      first = (clock_ >> shift(level + 1)) + 1;
    }
    return std::max(granularity_.instant(next), now_);
  }

  std::size_t size() const { return size_; }

  // Buckets that have timers.
  std::size_t queued() const {
    std::size_t queued = 0;
    for (unsigned level = 0; level < level_count_; ++level) queued += pending_[level].count();
    return queued;
  }

 private:
  using List = IndexLists::List;

  static constexpr std::size_t kSlots = 64;
  static constexpr unsigned kLevels = 21;  // 63 buckets of 8^20 ticks are more than 2^64 ticks

  static constexpr unsigned shift(unsigned level) { return 3 * level; }

  // The lowest level that reaches so many ticks ahead: level n does if they are less than 63 * 8^n.
  static unsigned level_of(Tick ahead) {
    const auto level = (static_cast<unsigned>(std::bit_width(ahead | 63)) - 4) / 3;  // of 64 * 8^n
    return level + (ahead >> shift(level) >= kSlots - 1);
  }

  // The position of the last bucket that has begun. At the end of time all have.
  Tick hand(unsigned level) const {
    return (clock_ >> shift(level)) + (clock_ == end_ && level > 0);
  }

  // The tick at which the bucket fires.
  Tick begin(unsigned level, Tick position) const {
    return position > end_ >> shift(level) ? end_ : position << shift(level);
  }

  // Fires the buckets of a level from position `first` to the hand.
  template <class Sink>
  void fire_buckets(unsigned level, Tick first, Sink& sink) {
    const Tick last = hand(level);
    for (Tick position = first; position <= last; ++position) {
      const std::size_t empty = pending_[level].distance(position % kSlots);
      if (empty > last - position) break;
      position += empty;
      pending_[level].clear(position % kSlots);
      lists_.drain(bucket(level, position % kSlots), [&](TimerId id, Tick deadline) {
        --size_;
        sink(id, deadline);
      });
    }
  }

  List bucket(unsigned level, std::size_t slot) const {
    return IndexLists::nth(first_bucket_, level * kSlots + slot);
  }

  Granularity granularity_;
  Tick end_;  // the last granule
  Tick now_;
  Tick clock_;
  std::size_t size_ = 0;
  IndexLists lists_;
  List first_bucket_;  // of level 0; the other levels' follow

  // A bucket's position is the number of buckets of its level that begin before it; its slot is
  // position % kSlots.
  std::array<Bitmap<kSlots>, kLevels> pending_;
  unsigned level_count_ = 0;  // in use so far
};
static_assert(TimerQueue<LinuxWheel>);

}  // namespace timerbench
