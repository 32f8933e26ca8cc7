// Timers, and logs on levels in which their entries wait: what log_wheel, log_ring and log_calendar
// share.
//
// A timer is 16 bytes: its deadline, and the granule at which its one live entry will be looked at.
// A bucket is a log of ids (core/id_logs.h). Nothing is unlinked: an entry is dead once its timer
// says that it is looked at elsewhere.
//
// Level n has buckets of Slots^n granules, for the block of Slots buckets in which the hand is and
// for the next block. An entry goes to the lowest level that reaches its granule. What is found in
// a bucket and is not due cascades: it gets a new entry. Functions that find such timers take a
// function place(id, timer, due), which gives the timer an entry; append() is the plain one.
//
// A ring has one level, of Slots buckets. What is out of its reach goes to the bucket that is a
// number of rounds before its granule.
//
// A long bucket of an upper level cascades in parts, while the hand is in the bucket before it.
// Nothing is appended to it meanwhile, so that no advance() has to move all of it.
//
// Invariants:
//   1. Granule g is the g-th multiple of the granularity; the last one ends at kNever - 1.
//   2. A timer's look is where its live entry is: the first granule of a bucket, or what the queue
//      has given it; kNever if it has none. A pending timer has a live entry. All other entries are
//      dead; dead_ counts them.
//   3. An entry of level n is less than 2 * Slots buckets ahead of the level's hand, so that a slot
//      stands for one bucket, and more than one if n > 0: the bucket that follows the hand is not
//      appended to.
//   4. A bucket is queued if and only if it has entries. next() is the first granule of the first
//      queued bucket, or kNever.
//   5. While more entries are dead than half of the pending timers and `slack`, each new entry and
//      each tidy() sweeps.
// A cancelled timer may have a live entry too, which waits until the timer is armed again. If a
// timer gets a look at which it has a dead entry as well, the two are alike: the one that is looked
// at first serves, and the other is dropped.
//
// So entries are bounded, whatever the caller does. At most one for each id waits, that of its
// pending or cancelled timer. Beside these, at most half as many as there are pending timers and
// `slack` are dead; some per cent more while a sweep goes round. When timers fire or are cancelled
// the bound falls, and what is too much is swept by the new entries and tidy() that follow, not by
// calls of one store. No chunk is given back. Timers that were due when they were armed take 16
// bytes more each while they are put in order, and that memory stays too.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/bitmap.h"
#include "core/granularity.h"
#include "core/id_logs.h"
#include "core/timer_queue.h"

namespace timerbench {

// What can be chosen. The suite ablation shows what most of the defaults are worth.
struct LogDesign {
  std::size_t lines = 4;         // of a chunk; a processor that reads one has the next on their way
  int chunks_ahead = 2;          // timers are fetched so many chunks before they are looked at
  std::size_t at_once = 800;     // a bucket of more entries is cascaded ahead
  std::size_t slack = 1024;      // so many dead entries do not matter
  bool leaves_the_entry = true;  // when a timer is cancelled or moved later; else it dies
  bool is_ring = false;
};

template <std::size_t Slots, LogDesign kDesign = LogDesign{}>
class TimerLogs {
  static_assert(std::has_single_bit(Slots) && Slots >= 4, "slots by shifting, at most 32 levels");

  static constexpr unsigned kBits = std::countr_zero(Slots);
  static constexpr unsigned kLevels = kDesign.is_ring ? 1 : (64 + kBits - 1) / kBits;
  static constexpr std::size_t kBuckets = kDesign.is_ring ? Slots : 2 * Slots;  // of a level
  static constexpr std::size_t kSwept = 26;  // entries that a call sweeps, or a few more
  using Logs = IdLogs<kDesign.lines>;

 public:
  using Log = typename Logs::Log;

  static constexpr std::size_t kAll = ~std::size_t{0};
  static constexpr std::size_t kChunk = Logs::kIds;  // ids of a chunk

  struct Timer {
    Tick deadline = kNever;  // kNever: not pending
    Tick look = kNever;
  };

  // A bucket's level, and its number there: how many buckets begin before it.
  struct Bucket {
    unsigned level;
    Tick position;

    Tick begin() const { return position << (level * kBits); }
    Tick last() const { return begin() + ((Tick{1} << (level * kBits)) - 1); }
    std::size_t slot() const { return position % kBuckets; }
  };

  explicit TimerLogs(const QueueConfig& config)
      : granularity_(config.granularity),
        hand_(granularity_.floor(config.start)),
        timers_(config.capacity),
        logs_(config.capacity) {}

  Timer& operator[](TimerId id) {
    assert(id < timers_.size());
    return timers_[id];
  }
  const Granularity& granularity() const { return granularity_; }
  std::size_t size() const { return size_; }  // pending timers
  AdvanceWork work() const { return work_; }
  Tick hand() const { return hand_; }
  Tick next() const { return next_; }

  // Entries in all buckets, dead ones too. O(buckets).
  std::size_t entries() const {
    std::size_t entries = 0;
    for (const Log& log : logs_of_buckets_) entries += logs_.size(log);
    return entries;
  }

  // Buckets that have entries.
  std::size_t queued() const {
    std::size_t queued = 0;
    for (unsigned level = 0; level < level_count_; ++level) queued += queued_[level].count();
    return queued;
  }

  void arm(Timer& timer, Tick deadline) {
    size_ += timer.deadline == kNever;
    timer.deadline = deadline;
  }

  bool cancel(TimerId id) {
    Timer& timer = (*this)[id];
    const bool was_pending = timer.deadline != kNever;
    timer.deadline = kNever;
    size_ -= was_pending;
    if constexpr (!kDesign.leaves_the_entry) {
      dead_ += timer.look != kNever;
      timer.look = kNever;
    }
    return was_pending;
  }

  // Whether a timer needs another entry to be found in time at this granule.
  static bool needs_entry(const Timer& timer, Tick due) {
    return kDesign.leaves_the_entry ? timer.look > due : timer.look != due;
  }

  // Gives the timer an entry at this granule. The one that it has dies.
  template <class Place>
  void add_entry(TimerId id, Timer& timer, Tick due, Place&& place) {
    if (dead_ > most_dead()) [[unlikely]]
      sweep(kSwept, place);
    const bool dies = timer.look != kNever;  // unless the sweep has dropped its entry
    place(id, timer, due);
    dead_ += dies;
  }

  // REQUIRES: due >= hand().
  void append(TimerId id, Timer& timer, Tick due) {
    const Bucket bucket = bucket_of(due);
    if (logs_.append(log(bucket), id)) enqueue(bucket);
    timer.look = bucket.begin();
  }

  // For a log that is none of the buckets.
  void append(Log& log, TimerId id) { logs_.append(log, id); }
  std::size_t size(const Log& log) const { return logs_.size(log); }

  // What becomes of an entry at this granule if its timer is not due: it goes to the timer's
  // granule, or is dropped.
  template <class Place>
  void look_again(TimerId id, Timer& timer, Tick look, Place&& place) {
    if (waits(timer, look)) {
      place(id, timer, granularity_.ceil(timer.deadline));
      ++work_.moved;
    } else {
      drop(timer, look);
    }
  }

  // Looks at an entry at this granule: calls fire(id, deadline) if its timer is due by this instant,
  // else looks again. REQUIRES: a timer that is due by then is looked at here.
  template <class Place, class Fire>
  void look_at(TimerId id, Tick look, Tick instant, Place&& place, Fire&& fire) {
    Timer& timer = timers_[id];
    if (timer.deadline <= instant) {
      --size_;
      timer.look = kNever;
      fire(id, std::exchange(timer.deadline, kNever));
    } else {
      look_again(id, timer, look, place);
    }
  }

  // Looks at all entries of a bucket or another log, and fires in the order of deadlines. What is due
  // stays pending until it fires, so that nothing is lost if memory runs out.
  template <class Where, class Place, class Sink>
  void fire_in_order(Where&& where, Tick look, Tick instant, Place&& place, Sink& sink) {
    sort_out_what_is_left(look, instant, place);
    due_now_.reserve(due_now_.size() + size(where));
    take(where, kAll, [&](TimerId id) {
      Timer& timer = timers_[id];
      if (timer.look == look && timer.deadline <= instant) {
        due_now_.emplace_back(timer.deadline, id);
      } else {
        look_again(id, timer, look, place);
      }
    });
    std::sort(due_now_.begin(), due_now_.end(), std::greater<>());
    for (; !due_now_.empty(); due_now_.pop_back()) {
      look_at(due_now_.back().second, look, instant, place, sink);
    }
  }

  // The bucket of this level in which the hand is.
  Bucket at_hand(unsigned level) const { return {level, hand(level)}; }
  bool is_queued(Bucket bucket) const { return queued_[bucket.level].test(bucket.slot()); }
  std::size_t size(Bucket bucket) const { return logs_.size(log(bucket)); }

  // Takes at most so many chunks out of the bucket and calls look(id) for each of their entries.
  template <class Look>
  void take(Bucket bucket, std::size_t chunks, Look&& look) {
    take(log(bucket), chunks, look);
    if (log(bucket).empty()) queued_[bucket.level].clear(bucket.slot());
  }

  // Looks at entries of a bucket of an upper level, at most so many chunks of them.
  template <class Place>
  void cascade(Bucket bucket, std::size_t chunks, Place&& place) {
    work_.level = bucket.level;
    const Tick begin = bucket.begin();
    take(bucket, chunks, [&](TimerId id) { look_again(id, timers_[id], begin, place); });
  }

  // How many upper levels have a bucket that begins at the hand. They are the lowest ones in use.
  unsigned levels_begun() const {
    return std::min<unsigned>(std::countr_zero(hand_) / kBits, level_count_ - 1);
  }

  // REQUIRES: granule >= hand(), and no queued bucket begins before it.
  void move_hand(Tick granule) {
    const Tick changed = hand_ ^ granule;
    hand_ = granule;
    if (changed >= Slots) find_following(changed);
  }

  // The first granule of the next block of Slots buckets on level 0.
  Tick end_of_block() const { return (hand_ | (Slots - 1)) + 1; }

  // As move_hand(), for an idle advance(), of which the check for a block would be a quarter.
  // REQUIRES: granule < end_of_block().
  void move_hand_in_block(Tick granule) { hand_ = granule; }

  // Finds next() anew, after entries were taken. REQUIRES: no entry is at the hand.
  void find_next() {
    const std::size_t near = queued_[0].near(hand_ % kBuckets);
    // Within a word nothing of an upper level begins earlier, unless blocks are shorter than words.
    if (near != 0 && (Slots >= 64 || near < Slots - hand_ % Slots)) {
      next_ = hand_ + near;
    } else {
      find_far_next();
    }
  }

  // Moves the hand of a ring past buckets that were not opened: gives each pending timer an entry
  // anew. What was due by then is at the hand. O(pending + dead). Throws std::bad_alloc and then
  // has done nothing.
  void pass_rounds(Tick granule) {
    logs_.reserve_for_all(size_, std::min(size_, kBuckets));
    Log passed;
    for (std::size_t slot = queued_[0].next(0); slot != queued_[0].kNone;
         slot = queued_[0].next(slot + 1)) {
      take_live({0, hand_ + (slot - hand_) % kBuckets}, passed);
    }
    for (; !due_now_.empty(); due_now_.pop_back()) {  // left by a failure
      take_live(due_now_.back().second, hand_, passed);
    }
    hand_ = granule;
    next_ = kNever;
    append_all(passed);
  }

  // Whether cascade_ahead() has something to do.
  bool cascades_ahead() const { return following_ != 0; }

  // Cascades a part of the buckets that follow the hand, so that they are empty when they begin.
  // `steps`: how far the hand has come since the last call, and probably will until the next.
  template <class Place>
  [[gnu::noinline]] void cascade_ahead(Tick steps, Place&& place) {
    for (unsigned levels = following_; levels != 0; levels &= levels - 1) {
      const auto level = static_cast<unsigned>(std::countr_zero(levels));
      const Bucket bucket{level, hand(level) + 1};
      const Tick left = bucket.begin() - hand_;
      const Tick calls = left / std::clamp<Tick>(steps, 1, left);  // until it begins
      cascade(bucket, size(bucket) / calls / Logs::kIds + 1, place);
      if (!is_queued(bucket)) following_ &= ~(1U << level);
    }
    find_next();
  }

  // Sweeps a little, if it must, after so many timers have fired.
  template <class Place>
  void tidy(std::size_t fired, Place&& place) {
    if (dead_ > most_dead()) [[unlikely]]
      sweep(kSwept + 2 * fired, place);
  }

 private:
  // Whether the entry at this granule is the live one of a pending timer.
  static bool waits(const Timer& timer, Tick look) {
    return timer.look == look && timer.deadline != kNever;
  }

  void drop(Timer& timer, Tick look) {
    if (timer.look == look) {
      timer.look = kNever;
    } else {
      --dead_;
    }
    ++work_.passed;
  }

  // Looks again at what a fire_in_order() that ran out of memory has found, if it has been moved or
  // cancelled since. So all that is found fires, and is left only where entries are left to look at.
  template <class Place>
  void sort_out_what_is_left(Tick look, Tick instant, Place&& place) {
    for (std::size_t i = 0; i < due_now_.size();) {
      auto& [deadline, id] = due_now_[i];
      deadline = timers_[id].deadline;
      if (deadline <= instant) {
        ++i;
      } else {
        look_again(id, timers_[id], look, place);
        due_now_[i] = due_now_.back();
        due_now_.pop_back();
      }
    }
  }

  Tick hand(unsigned level) const { return hand_ >> (level * kBits); }
  Log& log(Bucket bucket) { return logs_of_buckets_[number(bucket)]; }
  const Log& log(Bucket bucket) const { return logs_of_buckets_[number(bucket)]; }
  static std::size_t number(Bucket bucket) { return bucket.level * kBuckets + bucket.slot(); }
  std::size_t most_dead() const { return kDesign.slack + size_ / 2; }

  Bucket bucket_of(Tick due) const {
    if constexpr (kDesign.is_ring) {
      const Tick ahead = due - hand_;
      const Tick rest = ahead % kBuckets;  // 0 is the hand's slot: one bucket earlier then
      return {0, ahead < kBuckets ? due : hand_ + (rest == 0 ? kBuckets - 1 : rest)};
    }
    // No branch tells level 0 from the others: where timers have moved, it is foreseen badly.
    const unsigned beyond = due - hand_ >= kBuckets ? 1 : 0;
    Bucket bucket{.level = beyond, .position = due >> (beyond * kBits)};
    for (Tick hand = this->hand(beyond); bucket.position - hand >= kBuckets; hand >>= kBits) {
      bucket.position >>= kBits;
      ++bucket.level;
    }
    return bucket;
  }

  void enqueue(Bucket bucket) {
    level_count_ = std::max(level_count_, bucket.level + 1);
    queued_[bucket.level].set(bucket.slot());
    next_ = std::min(next_, bucket.begin());
  }

  template <class Look>
  void take(Log& log, std::size_t chunks, Look&& look) {
    const auto fetch = [&](TimerId id) { __builtin_prefetch(&timers_[id], 1); };
    logs_.template take<kDesign.chunks_ahead>(log, chunks, fetch, look);
  }

  // Finds the levels on which a long bucket follows the hand. `changed`: which bits of the hand have
  // changed. On a level whose hand has not moved the same bucket follows.
  void find_following(Tick changed) {
    for (unsigned level = 1; level < level_count_ && changed >> (level * kBits) != 0; ++level) {
      const bool is_long = size(Bucket{level, hand(level) + 1}) > kDesign.at_once;
      following_ = (following_ & ~(1U << level)) | unsigned{is_long} << level;
    }
  }

  [[gnu::noinline]] void find_far_next() {
    next_ = kNever;
    for (unsigned level = 0; level < level_count_; ++level) {
      const Bucket first{level, hand(level) + 1};
      if (next_ <= first.begin()) break;  // nothing from this level on begins earlier
      const std::size_t empty = queued_[level].distance(first.slot());
      if (empty == queued_[level].kNone) continue;
      next_ = std::min(next_, Bucket{level, first.position + empty}.begin());
    }
  }

  // Moves the live entries of a bucket to this log, and drops the dead ones. Their timers have no
  // look until append_all(), so a second entry is found to be dead. REQUIRES: memory for that.
  void take_live(Bucket bucket, Log& live) {
    const Tick begin = bucket.begin();
    take(bucket, kAll, [&](TimerId id) { take_live(id, begin, live); });
  }

  void take_live(TimerId id, Tick look, Log& live) {
    Timer& timer = timers_[id];
    if (waits(timer, look)) {
      logs_.append(live, id);
      timer.look = kNever;
    } else {
      drop(timer, look);
    }
  }

  // Empties the log, and gives each of its timers an entry in a bucket.
  void append_all(Log& live) {
    take(live, kAll, [&](TimerId id) {
      append(id, timers_[id], std::max(granularity_.ceil(timers_[id].deadline), hand_));
    });
  }

  // Drops the dead of so many entries or a chunk more, bucket by bucket. What lives goes to another
  // bucket: to its timer's granule or, if it would come back here, to before this bucket. So a
  // second entry of the same timer in the same bucket is found to be dead, and the bucket is emptied.
  template <class Place>
  [[gnu::noinline]] void sweep(std::size_t entries, Place&& place) {
    for (std::size_t swept = 0; swept < entries && dead_ > most_dead();) {
      const std::optional<Bucket> found = bucket_to_sweep();
      if (!found) {
        sweep_what_begins_next();
        break;
      }
      const Bucket bucket = *found;
      const Tick begin = bucket.begin();
      take(bucket, 1, [&](TimerId id) {
        ++swept;
        Timer& timer = timers_[id];
        if (waits(timer, begin)) {
          const Tick due = granularity_.ceil(timer.deadline);
          const bool comes_back = bucket_of(due).begin() == begin;
          place(id, timer, comes_back ? begin - 1 : due);
        } else {
          drop(timer, begin);
        }
      });
    }
    if (next_ != hand_) find_next();
  }

  // The queued bucket that is swept now, or none at the end of a round through those that begin
  // later than the next granule. What lives in one that begins there could only be put at the hand,
  // where the next advance() would find it and put it back, for ever.
  std::optional<Bucket> bucket_to_sweep() {
    for (;;) {
      swept_slot_ = queued_[swept_level_].next(swept_slot_);
      if (swept_slot_ == Bitmap<kBuckets>::kNone) {
        swept_level_ = (swept_level_ + 1) % level_count_;
        swept_slot_ = 0;
        if (swept_level_ == 0) return std::nullopt;
        continue;
      }
      const Tick first = hand(swept_level_);
      const Bucket bucket{swept_level_, first + (swept_slot_ - first) % kBuckets};
      if (bucket.begin() > hand_ + 1) return bucket;
      ++swept_slot_;
    }
  }

  // Sweeps the buckets that begin at the next granule, all at once. The advance() to there would
  // look at as many. O(their entries).
  [[gnu::noinline]] void sweep_what_begins_next() {
    const auto for_each_bucket = [&](auto&& visit) {
      for (unsigned level = 0; level < level_count_; ++level) {
        const Bucket bucket{level, hand(level) + 1};
        if (bucket.begin() == hand_ + 1) visit(bucket);
      }
    };
    std::size_t entries = 0;
    for_each_bucket([&](Bucket bucket) { entries += size(bucket); });
    // Each may go to another bucket, and on levels that have not been used so far.
    logs_.reserve(std::min(entries, kLevels * kBuckets));
    Log live;
    for_each_bucket([&](Bucket bucket) { take_live(bucket, live); });
    append_all(live);
  }

  Granularity granularity_;
  Tick hand_;
  Tick next_ = kNever;
  std::size_t size_ = 0;
  std::size_t dead_ = 0;
  unsigned level_count_ = 1;  // in use so far
  unsigned following_ = 0;    // levels whose bucket after the hand is cascaded ahead, as bits
  AdvanceWork work_;
  std::vector<Timer> timers_;
  Logs logs_;
  std::array<Log, kLevels * kBuckets> logs_of_buckets_;
  std::array<Bitmap<kBuckets>, kLevels> queued_;

  // The bucket that is swept next, or after the one that is not queued any more.
  unsigned swept_level_ = 0;
  std::size_t swept_slot_ = 0;

  std::vector<std::pair<Tick, TimerId>> due_now_;  // what fire_in_order() has found
};

}  // namespace timerbench
