// Hierarchical timing wheel whose buckets are append-only logs.
//
// A bucket is a log of ids (core/id_logs.h). A timer is 16 bytes: its deadline, and the granule at
// which its one live entry will be looked at. Nothing is unlinked. Cancelling forgets the deadline
// and leaves the entry. Moving a timer later only stores the deadline: when its entry is looked at,
// the timer is found to be due later and gets an entry there. Arming it again is the same, while the
// entry of a cancelled arming still waits. Only moving a timer to before its look appends an entry,
// and the old one is dead: it is not where the timer says.
//
// Level n has buckets of Slots^n granules, for the block of Slots buckets in which the hand is and
// for the next block. An entry goes to the lowest level that reaches its granule. A bucket of an
// upper level is looked at when it begins: what is still due in it cascades to a lower level. A long
// one is looked at in parts, at each advance() while the hand is in the bucket before it. Nothing is
// appended to it meanwhile, and no advance() has to look at all of it.
//
// Example: 4 slots a level, granularity 1, start at 0. Buckets are written as [first granule, end).
//   schedule(a, 3)    level 0 reaches granule 7: a goes to bucket [3, 4)
//   schedule(b, 9)    level 1 reaches granule 31 with buckets of 4: b goes to [8, 12)
//   schedule(a, 6)    one store: a's entry stays where it is
//   schedule(b, 7)    before b's look, which is 8: b goes to [7, 8), its entry in [8, 12) is dead
//   cancel(b)         one store
//   next_wakeup()     3
//   advance(3)        a's entry is found, and a is due later: it goes to [6, 7)
//   schedule(b, 30)   one store: the entry in [7, 8) waits
//   advance(7)        a fires at 6; b's entry is found, b goes to [28, 32) of level 1
//   advance(8)        the dead entry of b is dropped
//
// Invariants:
//   1. hand_ is not after the last advance(). Granule g is the g-th multiple of the granularity.
//   2. A timer's look is the first granule of the bucket that has its live entry, or kNever if it
//      has none. A pending timer has a live entry. All other entries are dead; dead_ counts them.
//   3. The look of a pending timer is at most its granule and after the hand. Only what was due by
//      the hand when it was armed has the hand itself as its look.
//   4. An entry of level n is less than 2 * Slots buckets ahead of the level's hand, so that a slot
//      stands for one bucket, and more than one if n > 0: the bucket that follows the hand is not
//      appended to.
//   5. A bucket is queued if and only if it has entries. next_ is the first granule of the first
//      queued bucket, or kNever.
//   6. While more entries are dead than half of the pending timers and kSlack, each new entry and
//      each advance() that does something sweeps.
// So no timer is late: a pending timer's entry is looked at when the hand reaches its look (4, 5),
// which is not after its granule (3). None fires twice: firing takes the look away (2), and an entry
// that is not its timer's look is dropped. A dead entry that its timer's look happens to name is
// taken for the live one, which then is dead itself.
//
// Cost:
//   schedule O(1): the timer's line, and for a new entry the end of a log (core/id_logs.h), for the
//     first of a bucket a word of the bitmap
//   cancel O(1): the timer's line
//   advance O(fired + looked at + buckets that begin): the line of each timer that is looked at,
//     fetched ahead; an entry is looked at once a level at most, unless its timer was moved
//   next_wakeup O(1)
//   A sweep, while too many entries are dead: two chunks a call, and of advance() one more for
//     every eight timers that fired
//   16 bytes a timer and 5 an entry, about 1.5 entries a timer at most; 8 a bucket of each level
//     that there can be: 32 KiB for 256 slots
//
// Good: for many timers, above all when most are moved or cancelled, and when a long advance() hurts.
// Bad: for few timers, which fit into a cache anyway: each look is work that a linked list saves.
// Follows: Varghese & Lauck 1987, scheme 7; logs as in Rosenblum & Ousterhout 1992; timers that are
//   found late as in nginx and libev.
// Deviates: buckets are logs instead of lists, and long ones cascade ahead of time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "core/bitmap.h"
#include "core/granularity.h"
#include "core/id_logs.h"
#include "core/joined_name.h"
#include "core/timer_queue.h"

namespace timerbench {

template <std::size_t Slots>
class LogWheel {
  static_assert(std::has_single_bit(Slots) && Slots >= 4, "slots by shifting, at most 32 levels");

 public:
  static constexpr Traits traits{.name = kSettingName<"log_wheel", Slots>,
                                 .summary = "hierarchical wheel of append-only logs",
                                 .precision = Precision::granular,
                                 .ordered = true,
                                 .paper = "Varghese & Lauck 1987, scheme 7, on logs"};

  explicit LogWheel(const QueueConfig& config)
      : granularity_(config.granularity),
        now_(config.start),
        hand_(granularity_.floor(config.start)),
        timers_(config.capacity),
        logs_(config.capacity) {}

  void schedule(TimerId id, Tick deadline) {
    Timer& timer = timers_[id];
    const Tick due = std::max(granularity_.ceil(deadline), hand_);
    if (timer.look > due) add_entry(id, timer, due);
    size_ += timer.deadline == kNever;
    timer.deadline = deadline;
  }

  bool cancel(TimerId id) {
    Timer& timer = timers_[id];
    const bool was_pending = timer.deadline != kNever;
    timer.deadline = kNever;
    size_ -= was_pending;
    return was_pending;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    const Tick end = granularity_.floor(now);
    if (end < next_ && following_ == 0) return 0;
    const std::size_t before = size_;
    const Tick start = hand_;
    if (next_ == hand_) fire_overdue(sink);
    while (next_ <= end) {
      move_hand(next_);
      open_buckets(sink);
    }
    if (following_ != 0) {
      move_hand(end);
      cascade_ahead(end - start);
    }
    const std::size_t fired = before - size_;
    if (dead_ > most_dead()) [[unlikely]]
      sweep(kChunksSwept + fired / 8);
    return fired;
  }

  Tick next_wakeup() const {
    if (size_ == 0) return kNever;
    return next_ == hand_ ? now_ : granularity_.instant(next_);
  }

  std::size_t size() const { return size_; }
  AdvanceWork work() const { return work_; }

  // Buckets that have entries.
  std::size_t queued() const {
    std::size_t queued = 0;
    for (unsigned level = 0; level < level_count_; ++level) queued += queued_[level].count();
    return queued;
  }

  // Entries in all buckets, dead ones too. O(buckets).
  std::size_t entries() const {
    std::size_t entries = 0;
    for (const Log& log : logs_of_buckets_) entries += logs_.size(log);
    return entries;
  }

 private:
  using Log = IdLogs::Log;

  static constexpr unsigned kBits = std::countr_zero(Slots);
  static constexpr unsigned kLevels = (64 + kBits - 1) / kBits;
  static constexpr std::size_t kBuckets = 2 * Slots;  // of a level
  static constexpr std::size_t kSlack = 1024;         // dead entries that do not matter
  static constexpr std::size_t kChunksSwept = 2;      // by a call
  static constexpr std::size_t kAtOnce = 800;         // a bucket of more is cascaded ahead
  static constexpr std::size_t kAll = ~std::size_t{0};

  struct Timer {
    Tick deadline = kNever;  // kNever: not pending
    Tick look = kNever;      // when its live entry is looked at; kNever: it has none
  };

  // A level, and a bucket's number in it: how many buckets begin before it.
  struct Place {
    unsigned level;
    Tick position;

    Tick begin() const { return position << (level * kBits); }
    std::size_t slot() const { return position % kBuckets; }
  };

  Tick hand(unsigned level) const { return hand_ >> (level * kBits); }
  Log& log(Place place) { return logs_of_buckets_[place.level * kBuckets + place.slot()]; }
  bool is_queued(Place place) const { return queued_[place.level].test(place.slot()); }
  std::size_t most_dead() const { return kSlack + size_ / 2; }

  // Gives the timer an entry at this granule. REQUIRES: due >= hand_.
  void add_entry(TimerId id, Timer& timer, Tick due) {
    if (dead_ > most_dead()) [[unlikely]]
      sweep(kChunksSwept);
    const bool dies = timer.look != kNever;  // unless the sweep has dropped its entry
    append(id, timer, due);
    dead_ += dies;
  }

  // REQUIRES: due >= hand_.
  void append(TimerId id, Timer& timer, Tick due) {
    Place place{.level = 0, .position = due};
    for (Tick hand = hand_; place.position - hand >= kBuckets; hand >>= kBits) {
      place.position >>= kBits;
      ++place.level;
    }
    if (logs_.append(log(place), id)) enqueue(place);
    timer.look = place.begin();
  }

  void enqueue(Place place) {
    level_count_ = std::max(level_count_, place.level + 1);
    queued_[place.level].set(place.slot());
    next_ = std::min(next_, place.begin());
  }

  // Takes at most so many chunks out of the bucket and calls look(id) for each of their entries.
  template <class Look>
  void take(Place place, std::size_t chunks, Look&& look) {
    const auto fetch = [&](TimerId id) { __builtin_prefetch(&timers_[id], 1); };
    logs_.take(log(place), chunks, fetch, look);
    if (log(place).empty()) queued_[place.level].clear(place.slot());
  }

  // What becomes of an entry whose timer is not due, in a bucket that begins at this granule: it
  // goes to the timer's granule, or is dropped.
  void look_again(TimerId id, Timer& timer, Tick begin) {
    if (timer.look == begin && timer.deadline != kNever) {
      append(id, timer, granularity_.ceil(timer.deadline));
      ++work_.moved;
    } else {
      drop(timer, begin);
    }
  }

  void drop(Timer& timer, Tick begin) {
    if (timer.look == begin) {
      timer.look = kNever;
    } else {
      --dead_;
    }
    ++work_.passed;
  }

  // Empties the bucket of level 0 at the hand: calls fire(id, deadline) for what is due.
  template <class Fire>
  void fire_bucket(Fire&& fire) {
    const Tick instant = granularity_.instant(hand_);
    take({0, hand_}, kAll, [&](TimerId id) {
      Timer& timer = timers_[id];
      if (timer.deadline <= instant) {  // so this is its look, by invariant 3
        --size_;
        timer.look = kNever;
        fire(id, std::exchange(timer.deadline, kNever));
      } else {
        look_again(id, timer, hand_);
      }
    });
  }

  // Fires the timers that were due when they were armed, in the order of rule 6.
  template <class Sink>
  void fire_overdue(Sink& sink) {
    due_now_.clear();
    if (hand_ % Slots == 0) cascade_begun();  // what an advance() without memory has left
    fire_bucket([&](TimerId id, Tick deadline) { due_now_.emplace_back(deadline, id); });
    std::sort(due_now_.begin(), due_now_.end());
    for (const auto& [deadline, id] : due_now_) sink(id, deadline);
    find_next();
  }

  // Looks at entries of a bucket of an upper level, at most so many chunks of them.
  void cascade(Place place, std::size_t chunks) {
    work_.level = place.level;
    const Tick begin = place.begin();
    take(place, chunks, [&](TimerId id) { look_again(id, timers_[id], begin); });
  }

  void move_hand(Tick granule) {
    const bool enters_block = (hand_ ^ granule) >= Slots;
    hand_ = granule;
    if (enters_block) find_following();
  }

  // Finds the levels on which a long bucket follows the hand.
  void find_following() {
    following_ = 0;
    for (unsigned level = 1; level < level_count_; ++level) {
      const Place place{level, hand(level) + 1};
      if (logs_.size(log(place)) > kAtOnce) following_ |= 1U << level;
    }
  }

  // Empties the buckets that begin at the hand, at most one on each level.
  template <class Sink>
  void open_buckets(Sink& sink) {
    if (hand_ % Slots == 0) cascade_begun();
    if (is_queued({0, hand_})) fire_bucket(sink);
    find_next();
  }

  [[gnu::noinline]] void cascade_begun() {
    for (unsigned level = 1; level < level_count_; ++level) {
      const Place place{level, hand(level)};
      if (place.begin() != hand_) break;
      if (is_queued(place)) cascade(place, kAll);
    }
  }

  void find_next() {
    const std::size_t near = queued_[0].near(hand_ % kBuckets);
    // Within a word nothing of an upper level begins earlier, unless blocks are shorter than words.
    if (near != 0 && (Slots >= 64 || near < Slots - hand_ % Slots)) {
      next_ = hand_ + near;
    } else {
      find_far_next();
    }
  }

  [[gnu::noinline]] void find_far_next() {
    next_ = kNever;
    for (unsigned level = 0; level < level_count_; ++level) {
      const Place first{level, hand(level) + 1};
      if (next_ <= first.begin()) break;  // nothing from this level on begins earlier
      const std::size_t empty = queued_[level].distance(first.slot());
      if (empty == queued_[level].kNone) continue;
      next_ = std::min(next_, Place{level, first.position + empty}.begin());
    }
  }

  // Cascades a part of the buckets that follow the hand, so that they are empty when they begin.
  // `steps`: how far the hand has come with this advance(), and probably will with the next.
  [[gnu::noinline]] void cascade_ahead(Tick steps) {
    for (unsigned levels = following_; levels != 0; levels &= levels - 1) {
      const auto level = static_cast<unsigned>(std::countr_zero(levels));
      const Place place{level, hand(level) + 1};
      const Tick left = place.begin() - hand_;
      const Tick calls = left / std::clamp<Tick>(steps, 1, left);  // until it begins
      cascade(place, logs_.size(log(place)) / calls / IdLogs::kIds + 1);
      if (!is_queued(place)) following_ &= ~(1U << level);
    }
    find_next();
  }

  // Drops the dead entries of so many chunks, bucket by bucket. What lives goes to another bucket:
  // to its timer's granule or, if that is in this bucket, to before it. So a second entry of the
  // same timer in the same bucket is found to be dead.
  [[gnu::noinline]] void sweep(std::size_t chunks) {
    for (; chunks > 0 && dead_ > most_dead(); --chunks) {
      const Place place = bucket_to_sweep();
      const Tick begin = place.begin();
      take(place, 1, [&](TimerId id) {
        Timer& timer = timers_[id];
        if (timer.look == begin && timer.deadline != kNever) {
          const Tick due = granularity_.ceil(timer.deadline);
          const bool stays = due >> (place.level * kBits) == place.position;
          append(id, timer, stays ? begin - 1 : due);
        } else {
          drop(timer, begin);
        }
      });
    }
    if (next_ != hand_) find_next();
  }

  // The queued bucket that is swept now. REQUIRES: an entry is dead; none is at the hand.
  Place bucket_to_sweep() {
    for (;;) {
      swept_slot_ = queued_[swept_level_].next(swept_slot_);
      if (swept_slot_ == Bitmap<kBuckets>::kNone) {
        swept_level_ = (swept_level_ + 1) % level_count_;
        swept_slot_ = 0;
        continue;
      }
      const Tick first = hand(swept_level_);
      const Place place{swept_level_, first + (swept_slot_ - first) % kBuckets};
      if (place.begin() != hand_) return place;
      ++swept_slot_;
    }
  }

  Granularity granularity_;
  Tick now_;
  Tick hand_;
  Tick next_ = kNever;
  std::size_t size_ = 0;
  std::size_t dead_ = 0;
  unsigned level_count_ = 1;  // in use so far
  unsigned following_ = 0;    // levels whose bucket after the hand is cascaded ahead, as bits
  AdvanceWork work_;
  std::vector<Timer> timers_;
  IdLogs logs_;
  std::array<Log, kLevels * kBuckets> logs_of_buckets_;
  std::array<Bitmap<kBuckets>, kLevels> queued_;

  // The bucket that is swept next, or after the one that is not queued any more.
  unsigned swept_level_ = 0;
  std::size_t swept_slot_ = 0;

  std::vector<std::pair<Tick, TimerId>> due_now_;  // scratch of fire_overdue()
};
static_assert(TimerQueue<LogWheel<256>>);

}  // namespace timerbench
