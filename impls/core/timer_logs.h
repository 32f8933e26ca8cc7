// Timers, and logs on levels in which their entries wait: what log_wheel, log_ring and log_calendar
// share.
//
// A timer is 16 bytes: its deadline, and the granule at which its one live entry will be looked at.
// A bucket is a log of ids (core/id_logs.h). Nothing is unlinked: an entry is dead once its timer
// says that it is looked at elsewhere.
//
// An entry goes to the bucket of its granule (core/bucket_levels.h). What is found in a bucket and is
// not due cascades: it gets a new entry. Functions that find such timers take a function
// place(id, timer, due), which gives the timer an entry; append() is the plain one.
//
// A long bucket of an upper level cascades in parts, while the hand is in the bucket before it.
// Nothing is appended to it meanwhile, so that no advance() has to move all of it.
//
// Invariants:
//   1. Granule g is the g-th multiple of the granularity; the last one ends at kNever - 1.
//   2. A timer's look is where its live entry is: the first granule of a bucket, or what the queue
//      has given it; kNever if it has none. A pending timer has a live entry. All other entries are
//      dead; dead_ counts them.
//   3. A bucket is queued if and only if it has entries. What sweeps have kept counts as entries of
//      one bucket of level 0: the one after the hand or, if an advance() ran out of memory, the one
//      at the hand. No id is kept twice.
//   4. While more entries are dead than half of the pending timers and `slack`, each new entry and
//      each tidy() sweeps.
// A cancelled timer may have a live entry too, which waits until the timer is armed again. If a
// timer gets a look at which it has a dead entry as well, the two are alike: the one that is looked
// at first serves, and the other is dropped.
//
// So entries are bounded, whatever the caller does. At most one for each id waits, that of its
// pending or cancelled timer. Beside these, at most half as many as there are pending timers and
// `slack` are dead, and some per cent of all entries more while a sweep goes round. When timers
// fire or are cancelled the bound falls, and what is too much is swept by the new entries and tidy()
// that follow, not by calls of one store. No chunk is given back. Timers that were due when they
// were armed take 16 bytes more each while they are put in order, and that memory stays too.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/bucket_levels.h"
#include "core/granularity.h"
#include "core/id_logs.h"
#include "core/timer_queue.h"

namespace timerbench {

// What can be chosen. The suite ablation shows what most of the defaults are worth.
struct LogDesign {
  std::size_t lines = 4;      // of a chunk; a processor that reads one has the next on their way
  int chunks_ahead = 2;       // timers are fetched so many chunks before they are looked at
  std::size_t at_once = 800;  // a bucket of more entries is cascaded ahead
  std::size_t slack = 1024;   // so many dead entries do not matter
  // When a timer is cancelled or moved later. Else it dies, and what dies at the hand is not bounded.
  bool leaves_the_entry = true;
  bool is_ring = false;
};

template <std::size_t Slots, LogDesign kDesign = LogDesign{}>
class TimerLogs {
  static constexpr std::size_t kSwept = 26;  // entries that a call sweeps, or a few more
  using Levels = BucketLevels<Slots, kDesign.is_ring>;
  using Logs = IdLogs<kDesign.lines>;

 public:
  using Bucket = typename Levels::Bucket;
  using Log = typename Logs::Log;

  static constexpr std::size_t kAll = ~std::size_t{0};
  static constexpr std::size_t kChunk = Logs::kIds;  // ids of a chunk

  struct Timer {
    Tick deadline = kNever;  // kNever: not pending
    Tick look = kNever;
  };

  explicit TimerLogs(const QueueConfig& config)
      : granularity_(config.granularity),
        timers_(config.capacity),
        is_kept_(config.capacity),
        logs_(config.capacity),
        levels_(granularity_.floor(config.start)) {}

  Timer& operator[](TimerId id) {
    assert(id < timers_.size());
    return timers_[id];
  }
  const Granularity& granularity() const { return granularity_; }
  std::size_t size() const { return size_; }  // pending timers
  AdvanceWork work() const { return work_; }

  // As those of BucketLevels:
  Tick hand() const { return levels_.hand(); }
  Tick next() const { return levels_.next(); }
  Tick end_of_block() const { return levels_.end_of_block(); }
  unsigned levels_begun() const { return levels_.begun(); }
  Bucket at_hand(unsigned level) const { return levels_.at_hand(level); }
  bool is_queued(Bucket bucket) const { return levels_.is_queued(bucket); }
  std::size_t queued() const { return levels_.queued(); }
  void find_next() { levels_.find_next(); }

  // Entries in all buckets, dead ones too. O(buckets).
  std::size_t entries() const {
    std::size_t entries = logs_.size(kept_);
    for (const Log& log : logs_of_buckets_) entries += logs_.size(log);
    return entries;
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
    const Bucket bucket = levels_.bucket_of(due);
    if (logs_.append(log(bucket), id)) levels_.enqueue(bucket);
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
      // If an advance() ran out of memory here, it may have been armed for the past since.
      Tick due = std::max(granularity_.ceil(timer.deadline), hand());
      // Of a later round: as far ahead as the ring reaches. The slot of its granule may be the next one.
      if constexpr (kDesign.is_ring)
        due = hand() + std::min<Tick>(due - hand(), Levels::kBuckets - 1);
      place(id, timer, due);
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
    take_all(where, [&](TimerId id) {
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

  std::size_t size(Bucket bucket) const {
    return logs_.size(log(bucket)) + (has_kept(bucket) ? logs_.size(kept_) : 0);
  }

  // Takes at most so many chunks out of a bucket of an upper level, and calls look(id) for each of
  // their entries.
  template <class Look>
  void take(Bucket bucket, std::size_t chunks, Look&& look) {
    take(log(bucket), chunks, look);
    if (log(bucket).empty()) levels_.dequeue(bucket);
  }

  // The same with a bucket of level 0, and all of it.
  template <class Look>
  void take_all(Bucket bucket, Look&& look) {
    take(log(bucket), kAll, look);
    if (has_kept(bucket)) [[unlikely]]
      take_kept(look);
    levels_.dequeue(bucket);
  }

  // Looks at entries of a bucket of an upper level, at most so many chunks of them.
  template <class Place>
  void cascade(Bucket bucket, std::size_t chunks, Place&& place) {
    work_.level = bucket.level;
    const Tick begin = bucket.begin();
    take(bucket, chunks, [&](TimerId id) { look_again(id, timers_[id], begin, place); });
  }

  // Looks at all entries of the buckets of upper levels that begin at the hand, at most one on each.
  template <class Place>
  [[gnu::noinline]] void cascade_begun(Place&& place) {
    for (unsigned level = 1; level <= levels_begun(); ++level) {
      const Bucket bucket = at_hand(level);
      if (is_queued(bucket)) cascade(bucket, kAll, place);
    }
  }

  // REQUIRES: granule >= hand(), and no queued bucket begins before it.
  void move_hand(Tick granule) {
    const Tick changed = hand() ^ granule;
    levels_.move_hand(granule);
    if (changed >= Slots) find_following(changed);
  }

  // As move_hand(), for an idle advance(), of which the check for a block would be a quarter.
  // REQUIRES: granule < end_of_block().
  void move_hand_in_block(Tick granule) { levels_.move_hand(granule); }

  // Moves the hand of a ring past buckets that were not opened: gives each pending timer an entry
  // anew. What was due by then is at the hand. O(pending + dead). Throws std::bad_alloc and then
  // has done nothing.
  void pass_rounds(Tick granule) {
    logs_.reserve_for_all(size_, std::min(size_, Levels::kBuckets));
    Log passed;
    for (std::size_t slot = levels_.next_slot(0, 0); slot != Levels::kNoSlot;
         slot = levels_.next_slot(0, slot + 1)) {
      take_live(levels_.in_slot(0, slot), passed);
    }
    for (; !due_now_.empty(); due_now_.pop_back()) {  // left by a failure
      take_live(due_now_.back().second, hand(), passed);
    }
    levels_.pass_rounds(granule);
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
      const Bucket bucket = levels_.after_hand(level);
      const Tick left = bucket.begin() - hand();
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

  Log& log(Bucket bucket) { return logs_of_buckets_[bucket.index()]; }
  const Log& log(Bucket bucket) const { return logs_of_buckets_[bucket.index()]; }
  std::size_t most_dead() const { return kDesign.slack + size_ / 2; }

  // Whether it is the bucket of which sweeps have kept entries.
  bool has_kept(Bucket bucket) const { return !kept_.empty() && bucket.index() == kept_of_; }

  template <class Look>
  [[gnu::noinline]] void take_kept(Look&& look) {
    take(kept_, kAll, [&](TimerId id) {
      is_kept_[id] = false;
      look(id);
    });
  }

  template <class Look>
  void take_all(Log& log, Look&& look) {
    take(log, kAll, look);
  }

  template <class Look>
  void take(Log& log, std::size_t chunks, Look&& look) {
    const auto fetch = [&](TimerId id) { __builtin_prefetch(&timers_[id], 1); };
    logs_.template take<kDesign.chunks_ahead>(log, chunks, fetch, look);
  }

  // Finds the levels on which a long bucket follows the hand. `changed`: which bits of the hand have
  // changed. On a level whose hand has not moved the same bucket follows.
  void find_following(Tick changed) {
    for (unsigned level = 1; level < levels_.count() && changed >= Levels::width(level); ++level) {
      const bool is_long = size(levels_.after_hand(level)) > kDesign.at_once;
      following_ = (following_ & ~(1U << level)) | unsigned{is_long} << level;
    }
  }

  // Moves the live entries of a bucket to this log, and drops the dead ones. Their timers have no
  // look until append_all(), so a second entry is found to be dead. REQUIRES: memory for that.
  void take_live(Bucket bucket, Log& live) {
    const Tick begin = bucket.begin();
    take_all(bucket, [&](TimerId id) { take_live(id, begin, live); });
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
      append(id, timers_[id], std::max(granularity_.ceil(timers_[id].deadline), hand()));
    });
  }

  // Drops the dead of so many entries or a chunk more, bucket by bucket. What lives goes to another
  // log: to its timer's granule or, if it would come back here, to before this bucket. So a second
  // entry of the same timer in the same bucket is found to be dead, and the bucket is emptied.
  //
  // Before a bucket that begins at the next granule there is only the hand, where the next advance()
  // would find all of it and put it back. So what would come back there is kept in a log beside the
  // bucket of level 0, and goes into that at the end of the round.
  template <class Place>
  [[gnu::noinline]] void sweep(std::size_t entries, Place&& place) {
    for (std::size_t swept = 0; swept < entries && dead_ > most_dead();) {
      const std::optional<Bucket> found = bucket_to_sweep();
      const bool puts_back = !found;
      if (puts_back && (kept_.empty() || has_kept(at_hand(0)))) {
        swept_level_ = 0;
        break;
      }
      const Bucket bucket = found.value_or(levels_.after_hand(0));
      work_.level = bucket.level;
      const Tick begin = bucket.begin();
      const bool is_next = begin == hand() + 1;
      take(puts_back ? kept_ : log(bucket), 1, [&](TimerId id) {
        ++swept;
        Timer& timer = timers_[id];
        if (puts_back) {
          is_kept_[id] = false;
        } else if (is_next && is_kept_[id]) {  // that entry serves, if any does
          --dead_;
          ++work_.passed;
          return;
        }
        if (!waits(timer, begin)) return drop(timer, begin);
        ++work_.moved;
        const Tick due = granularity_.ceil(timer.deadline);
        const bool comes_back = levels_.bucket_of(due).begin() == begin;
        if (comes_back && is_next && !puts_back) {
          keep(id);
        } else {
          place(id, timer, comes_back && !puts_back ? begin - 1 : due);
        }
      });
      if (log(bucket).empty() && !has_kept(bucket)) levels_.dequeue(bucket);
    }
    if (next() != hand()) find_next();
  }

  // The queued bucket that is swept now, or none when all have been. One at the next granule has to
  // wait while something is kept for the hand, where an advance() has run out of memory.
  std::optional<Bucket> bucket_to_sweep() {
    const Tick last_passed = hand() + has_kept(at_hand(0));
    for (; swept_level_ < levels_.count(); ++swept_level_, swept_slot_ = 0) {
      while ((swept_slot_ = levels_.next_slot(swept_level_, swept_slot_)) != Levels::kNoSlot) {
        const Bucket bucket = levels_.in_slot(swept_level_, swept_slot_);
        if (bucket.begin() > last_passed && !log(bucket).empty()) return bucket;
        ++swept_slot_;
      }
    }
    return std::nullopt;
  }

  // Keeps a live entry of the next granule.
  void keep(TimerId id) {
    const Bucket bucket = levels_.after_hand(0);
    logs_.append(kept_, id);
    is_kept_[id] = true;
    kept_of_ = bucket.index();
    levels_.enqueue(bucket);
  }

  Granularity granularity_;
  std::size_t size_ = 0;
  std::size_t dead_ = 0;
  unsigned following_ = 0;  // levels whose bucket after the hand is cascaded ahead, as bits
  AdvanceWork work_;
  Log kept_;                 // what sweeps have kept of a bucket
  std::size_t kept_of_ = 0;  // the index of that bucket
  std::vector<Timer> timers_;
  std::vector<bool> is_kept_;  // of an id: whether kept_ has an entry of it
  Logs logs_;
  Levels levels_;  // here, since what follows its first line is long
  std::array<Log, Levels::kAllBuckets> logs_of_buckets_;

  // The bucket that is swept next, or after the one that is empty now.
  unsigned swept_level_ = 0;
  std::size_t swept_slot_ = 0;

  std::vector<std::pair<Tick, TimerId>> due_now_;  // what fire_in_order() has found
};

}  // namespace timerbench
