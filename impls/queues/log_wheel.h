// Hierarchical timing wheel whose buckets are append-only logs.
//
// A bucket is a log of ids, and nothing is unlinked (core/timer_logs.h, which says how levels,
// looks and dead entries work). Cancelling forgets the deadline and leaves the entry. Moving a
// timer later only stores the deadline: when its entry is looked at, the timer is found to be due
// later and gets an entry there. Arming it again is the same, while the entry of a cancelled arming
// still waits. Only moving a timer to before its look appends an entry, and the old one is dead: it
// is not where the timer says.
//
// A bucket of an upper level is looked at when it begins: what is still due in it cascades to a
// lower level. A long one is looked at in parts, at each advance() while the hand is in the bucket
// before it, so no advance() has to look at all of it.
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
//   1. Those of core/timer_logs.h. The hand is not after the last advance(), and in the same block
//      of Slots granules.
//   2. The look of a pending timer is at most its granule and after the hand. Only what was due by
//      the hand when it was armed has the hand itself as its look. So no timer is late: a pending
//      timer's entry is looked at when the hand reaches its look, which is not after its granule.
//      None fires twice: firing takes the look away, and an entry that is not its timer's look is
//      dropped.
//
// Cost:
//   schedule O(1): the timer's line, and for a new entry the end of a log (core/id_logs.h), for the
//     first of a bucket a word of the bitmap
//   cancel O(1): the timer's line
//   advance O(fired + looked at + buckets that begin): the line of each timer that is looked at,
//     fetched ahead; an entry is looked at once a level at most, unless its timer was moved or a
//     sweep has put it a granule earlier. What was armed for one granule and then cancelled or moved
//     later is looked at when that begins, all of it by one call, though nothing fires
//   next_wakeup O(1)
//   A sweep, while too many entries are dead: at most 86 entries a call, and of advance() two more
//     for each timer that fired
//   16 bytes and 1 bit an id, and 4.2 bytes an entry: at most one that is not dead for each id, that
//     of its pending or cancelled timer, and dead ones as core/timer_logs.h bounds them; 16 for each
//     timer that one advance() fires because it was due when it was armed; up to 256 for the last
//     chunk of each bucket that has entries, which matters below 10^5 timers; 16 KiB of chunks; 8
//     within the object for a bucket of each level that there can be: 32 KiB for 256 slots
//
// Good: for many timers, above all when most are moved or cancelled, and when a long advance()
//   hurts.
// Bad: for few timers, which fit into a cache anyway: each look is work that a linked list saves.
// Follows: Varghese & Lauck 1987, scheme 7; logs as in Rosenblum & Ousterhout 1992; timers that are
//   found late as in nginx and libev.
// Deviates: buckets are logs instead of lists, and long ones cascade ahead of time.
#pragma once

#include <algorithm>

#include "core/joined_name.h"
#include "core/timer_logs.h"
#include "core/timer_queue.h"

namespace timerbench {

template <std::size_t Slots, LogDesign kDesign = LogDesign{}>
class LogWheel {
 public:
  static constexpr Traits traits{.name = kSettingName<"log_wheel", Slots>,
                                 .summary = "hierarchical wheel of append-only logs",
                                 .precision = Precision::granular,
                                 .ordered = true,
                                 .paper = "Varghese & Lauck 1987, scheme 7, on logs"};

  explicit LogWheel(const QueueConfig& config) : now_(config.start), logs_(config) {}

  void schedule(TimerId id, Tick deadline) {
    Timer& timer = logs_[id];
    const Tick due = std::max(logs_.granularity().ceil(deadline), logs_.hand());
    if (logs_.needs_entry(timer, due)) {
      logs_.add_entry(id, timer, due, place());
      idle_until_ = std::min(idle_until_, logs_.granularity().instant(logs_.next()));
    }
    logs_.arm(timer, deadline);
  }

  bool cancel(TimerId id) { return logs_.cancel(id); }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    if (now < idle_until_) {
      now_ = now;
      return 0;
    }
    return look_and_fire(now, sink);
  }

  Tick next_wakeup() const {
    if (size() == 0) return kNever;
    return std::max(now_, logs_.granularity().instant(logs_.next()));
  }

  std::size_t size() const { return logs_.size(); }
  AdvanceWork work() const { return logs_.work(); }

  // Buckets that have entries.
  std::size_t queued() const { return logs_.queued(); }

  // Entries in all buckets, dead ones too. O(buckets).
  std::size_t entries() const { return logs_.entries(); }

 protected:
  Tick now_;
  Tick idle_until_ = 0;  // advance() to before this has nothing to do
  TimerLogs<Slots, kDesign> logs_;

 private:
  using Timer = typename TimerLogs<Slots, kDesign>::Timer;

  auto place() {
    return [this](TimerId id, Timer& timer, Tick due) { logs_.append(id, timer, due); };
  }

  template <class Sink>
  std::size_t look_and_fire(Tick now, Sink& sink) {
    const std::size_t before = size();
    const Tick start = logs_.granularity().floor(now_);
    const Tick end = logs_.granularity().floor(now);
    now_ = now;
    if (logs_.next() == logs_.hand()) fire_overdue(sink);
    while (logs_.next() <= end) {
      logs_.move_hand(logs_.next());
      open_buckets(sink);
    }
    logs_.move_hand(end);
    if (logs_.cascades_ahead()) logs_.cascade_ahead(end - start, place());
    const std::size_t fired = before - size();
    logs_.tidy(fired, place());
    const Tick next = std::min(logs_.next(), logs_.end_of_block());
    idle_until_ = logs_.cascades_ahead() ? 0 : logs_.granularity().instant(next);
    return fired;
  }

  // Fires the timers that were due when they were armed, in the order of rule 6.
  template <class Sink>
  void fire_overdue(Sink& sink) {
    logs_.cascade_begun(place());  // what an advance() without memory has left
    const Tick hand = logs_.hand();
    logs_.fire_in_order(logs_.at_hand(0), hand, logs_.granularity().instant(hand), place(), sink);
    logs_.find_next();
  }

  // Empties the buckets that begin at the hand, at most one on each level.
  template <class Sink>
  void open_buckets(Sink& sink) {
    if (logs_.hand() % Slots == 0) logs_.cascade_begun(place());
    if (logs_.is_queued(logs_.at_hand(0))) fire_bucket(sink);
    logs_.find_next();
  }

  // Empties the bucket of level 0 at the hand.
  template <class Sink>
  void fire_bucket(Sink& sink) {
    const Tick hand = logs_.hand();
    const Tick instant = logs_.granularity().instant(hand);
    logs_.take_all(logs_.at_hand(0),
                   [&](TimerId id) { logs_.look_at(id, hand, instant, place(), sink); });
  }
};
static_assert(TimerQueue<LogWheel<256>>);

}  // namespace timerbench
