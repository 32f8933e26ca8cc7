// The log wheel whose entries are a deadline and an id, so that a cascade needs no look at timers.
//
// A timer is its deadline and its key, the granule of its one live entry. An entry carries its key
// along and cascades by it alone. Only on the lowest level is the timer looked at: it fires, or
// gets an entry at its later deadline, or the entry is not its key and is dropped. So what was
// moved or cancelled in an upper bucket is carried down to its old granule.
//
// Invariants:
//   1. A pending timer has one entry whose key is its own, in the bucket of the lowest level that
//      reached it from the hand. Its key is at most its granule.
//   2. All other entries are dead: their key is not their timer's, or the timer is not pending.
//   3. next_ is the first granule of the first bucket that has entries, or kNever.
//
// Cost:
//   schedule O(1): the timer's line and the end of a log
//   cancel O(1): the timer's line
//   advance O(fired + carried): 16 bytes of a log for each entry that a cascade carries, and the
//     timer's line on the lowest level, fetched ahead
//   next_wakeup O(1)
//   16 bytes a timer and 16 an entry; logs keep the memory of their longest time
//
// Good: to be compared with log_wheel, as the suite ablation does.
// Bad: for use: a bucket is always cascaded at once, and dead entries are not swept, so moving
//   timers nearer for ever takes ever more memory.
// Follows: log_wheel, and Varghese & Lauck 1987, scheme 7.
// Deviates: entries have deadlines. Logs are vectors, a bucket is cascaded at once, and nothing is swept:
//   so it is to be compared with log_wheel_256_without_cascading_ahead, and some of the difference is
//   that of vectors and chunks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <utility>
#include <vector>

#include "core/bitmap.h"
#include "core/granularity.h"
#include "core/timer_queue.h"

namespace timerbench {

class LogWheelOfDeadlines {
 public:
  static constexpr Traits traits{.name = "log_wheel_256_with_deadlines",
                                 .summary = "log wheel whose entries have deadlines",
                                 .precision = Precision::granular,
                                 .ordered = true,
                                 .paper = "Varghese & Lauck 1987, scheme 7, on logs"};

  explicit LogWheelOfDeadlines(const QueueConfig& config)
      : granularity_(config.granularity),
        now_(config.start),
        hand_(granularity_.floor(config.start)),
        timers_(config.capacity),
        buckets_(kLevels * kBuckets) {}

  void schedule(TimerId id, Tick deadline) {
    assert(id < timers_.size());
    Timer& timer = timers_[id];
    const Tick due = std::max(granularity_.ceil(deadline), hand_);
    if (timer.key > due) append({due, id});
    size_ += timer.deadline == kNever;
    timer.deadline = deadline;
  }

  bool cancel(TimerId id) {
    assert(id < timers_.size());
    const bool was_pending = std::exchange(timers_[id].deadline, kNever) != kNever;
    size_ -= was_pending;
    return was_pending;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    const std::size_t before = size_;
    const Tick end = granularity_.floor(now);
    if (next_ == hand_) fire_overdue(sink);
    while (next_ <= end) {
      hand_ = next_;
      cascade_begun();
      fire_bucket(sink);
      find_next();
    }
    return before - size_;
  }

  Tick next_wakeup() const {
    if (size_ == 0) return kNever;
    return next_ == hand_ ? now_ : granularity_.instant(next_);
  }

  std::size_t size() const { return size_; }
  AdvanceWork work() const { return work_; }

 private:
  static constexpr unsigned kBits = 8;
  static constexpr unsigned kLevels = 8;
  static constexpr std::size_t kBuckets = 512;  // of a level: the hand's block and the next
  static constexpr std::size_t kAhead = 40;     // entries

  struct Timer {
    Tick deadline = kNever;  // kNever: not pending
    Tick key = kNever;       // of its live entry; kNever: it has none
  };

  struct Entry {
    Tick key;
    TimerId id;
  };
  using Log = std::vector<Entry>;

  // Gives the timer an entry. REQUIRES: key >= hand_.
  void append(Entry entry) {
    timers_[entry.id].key = entry.key;
    carry(entry);
  }

  void carry(Entry entry) {
    Tick position = entry.key;
    unsigned level = 0;
    for (Tick hand = hand_; position - hand >= kBuckets; hand >>= kBits) {
      position >>= kBits;
      ++level;
    }
    const std::size_t slot = position % kBuckets;
    buckets_[level * kBuckets + slot].push_back(entry);
    queued_[level].set(slot);
    next_ = std::min(next_, position << (level * kBits));
  }

  // Empties a bucket into opened_.
  void open(unsigned level, Tick position) {
    opened_.clear();
    opened_.swap(buckets_[level * kBuckets + position % kBuckets]);
    queued_[level].clear(position % kBuckets);
  }

  // Carries the buckets that begin at the hand to lower levels, by their keys alone.
  void cascade_begun() {
    for (unsigned level = 1; level < kLevels && hand_ % (Tick{1} << (level * kBits)) == 0;
         ++level) {
      open(level, hand_ >> (level * kBits));
      for (const Entry& entry : opened_) carry(entry);
      work_.moved += opened_.size();
      work_.level = level;
    }
  }

  // Empties the bucket of level 0 at the hand: calls fire(id, deadline) for what is due.
  template <class Fire>
  void fire_bucket(Fire&& fire) {
    open(0, hand_);
    for (std::size_t i = 0; i < opened_.size(); ++i) {
      if (i + kAhead < opened_.size()) __builtin_prefetch(&timers_[opened_[i + kAhead].id], 1);
      const auto [key, id] = opened_[i];
      Timer& timer = timers_[id];
      if (timer.key != key) continue;
      const Tick due = timer.deadline == kNever ? kNever : granularity_.ceil(timer.deadline);
      if (due <= hand_) {
        --size_;
        timer.key = kNever;
        fire(id, std::exchange(timer.deadline, kNever));
      } else if (due != kNever) {
        append({due, id});
      } else {
        timer.key = kNever;
      }
    }
  }

  // Fires the timers that were due when they were armed, in the order of rule 6.
  template <class Sink>
  void fire_overdue(Sink& sink) {
    due_now_.clear();
    fire_bucket([&](TimerId id, Tick deadline) { due_now_.emplace_back(deadline, id); });
    std::sort(due_now_.begin(), due_now_.end());
    for (const auto& [deadline, id] : due_now_) sink(id, deadline);
    find_next();
  }

  void find_next() {
    next_ = kNever;
    for (unsigned level = 0; level < kLevels; ++level) {
      const Tick first = (hand_ >> (level * kBits)) + 1;
      const std::size_t empty = queued_[level].distance(first % kBuckets);
      if (empty == queued_[level].kNone) continue;
      next_ = std::min(next_, (first + empty) << (level * kBits));
    }
  }

  Granularity granularity_;
  Tick now_;
  Tick hand_;
  Tick next_ = kNever;
  std::size_t size_ = 0;
  AdvanceWork work_;
  std::vector<Timer> timers_;
  std::vector<Log> buckets_;
  std::array<Bitmap<kBuckets>, kLevels> queued_;
  Log opened_;
  std::vector<std::pair<Tick, TimerId>> due_now_;  // scratch of fire_overdue()
};
static_assert(TimerQueue<LogWheelOfDeadlines>);

}  // namespace timerbench
