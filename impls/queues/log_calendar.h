// Calendar queue on append-only logs: exact and ordered at any resolution, without a granularity to
// choose.
//
// Timers wait in the logs of log_wheel (core/timer_logs.h): levels of Slots buckets, from one tick
// wide to the end of time. So cancelling and moving later is one store here too. What differs is
// how a bucket is opened. A long one cascades to narrower buckets, a short one is not split
// further: its timers go to the agenda, a small sorted array, whatever its width. So the width of a
// bucket that is sorted follows the load, wherever it changes, and nothing is ever resized. A
// bucket of one tick needs no order and fires as it is.
//
// A timer that is armed for the span of a bucket that was opened goes to the agenda as well, unless
// it is full: then it goes to the logs.
//
// Example: 4 slots a level, start at 0. Buckets are written as [first tick, end).
//   schedule(a, 22)   level 1 reaches tick 31 with buckets of 4: a goes to [20, 24)
//   schedule(b, 21)   to the same
//   next_wakeup()     20
//   advance(20)       the bucket is short: the agenda is b at 21, a at 22
//   next_wakeup()     21
//   schedule(c, 23)   in the span of the bucket that was opened: the agenda is b, a, c
//   schedule(a, 40)   one store: a stays in the agenda at 22
//   advance(23)       b fires; a is found, and goes to the logs at 40; c fires
//
// Invariants:
//   1. Those of core/timer_logs.h; the granularity is 1. A look is the first tick of a bucket, the
//      tick at which the timer stands in the agenda, or, in overdue_, the time when it was armed.
//   2. The hand is the last advance(). Bucketed timers are due after it.
//   3. The agenda is sorted, holds at most kMost entries, and between calls all of them are after the
//      hand.
//   4. A timer is in overdue_ if it was due when it was armed, until the next advance().
// So timers fire in order: the agenda and the bucket that begins next are looked at in the order of
// time, and nothing in a bucket is due before the bucket begins.
//
// Cost:
//   schedule O(1): the timer's line, and for a new entry that of log_wheel, or a place in the
//     agenda, at most 2 KiB in the nearest cache
//   cancel O(1): the timer's line
//   advance O(fired + looked at): as log_wheel, and for each timer of a bucket wider than a tick
//     its share of sorting at most kShort others
//   next_wakeup O(1): the first of the agenda or the first tick of the next bucket, where nothing
//     may be due
//   Sweeps and memory as log_wheel
//
// Good: for exact timers in large numbers, at any resolution.
// Bad: for few timers, as log_wheel, and in ticks of a ns for fewer than millions; where a
//   granularity will do, log_wheel need not sort.
// Follows: Brown 1988, calendar queues; Tang, Goh & Thng 2005, ladder queues, which split what is
//   too long and sort what is short; Varghese & Lauck 1987, scheme 7.
// Deviates: widths are fixed on each level, and the choice is between levels; buckets are logs.
#pragma once

#include <algorithm>
#include <vector>

#include "core/joined_name.h"
#include "core/timer_logs.h"
#include "core/timer_queue.h"

namespace timerbench {

template <std::size_t Slots, LogDesign kDesign = LogDesign{}>
class LogCalendar {
 public:
  static constexpr Traits traits{
      .name = kSettingName<"log_calendar", Slots>,
      .summary = "calendar of append-only logs, short buckets are sorted",
      .precision = Precision::exact,
      .ordered = true,
      .paper = "Brown 1988; Tang, Goh & Thng 2005, on logs"};

  explicit LogCalendar(const QueueConfig& config)
      : logs_({.capacity = config.capacity, .start = config.start, .granularity = 1}) {
    agenda_.reserve(kMost);
  }

  void schedule(TimerId id, Tick deadline) {
    Timer& timer = logs_[id];
    const Tick due = std::max(deadline, now());
    if (logs_.needs_entry(timer, due)) logs_.add_entry(id, timer, due, place());
    logs_.arm(timer, deadline);
  }

  bool cancel(TimerId id) { return logs_.cancel(id); }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < this->now()) return 0;
    if (now < idle_until_) {
      logs_.move_hand_in_block(now);
      return 0;
    }
    return look_and_fire(now, sink);
  }

  Tick next_wakeup() const {
    if (size() == 0) return kNever;
    return overdue_.empty() ? next_look() : now();
  }

  std::size_t size() const { return logs_.size(); }
  AdvanceWork work() const { return logs_.work(); }

  // Buckets that have entries, and timers of the agenda.
  std::size_t queued() const { return logs_.queued() + agenda_.size(); }
  std::size_t agenda_size() const { return agenda_.size(); }

  // Entries in all buckets and in the agenda, and what is overdue; dead ones too. O(buckets).
  std::size_t entries() const { return logs_.entries() + agenda_.size() + logs_.size(overdue_); }

 private:
  using Logs = TimerLogs<Slots, kDesign>;
  using Timer = typename Logs::Timer;

  struct Entry {
    Tick due;
    TimerId id;
  };
  static bool is_later(const Entry& a, const Entry& b) { return a.due > b.due; }

  static constexpr std::size_t kMost = 128;  // entries of the agenda
  static constexpr std::size_t kShort = 32;  // a bucket of so many is not split
  // So take() gets its memory before a bucket is opened, and never leaves the agenda unsorted.
  static_assert(kShort <= Logs::kChunk);

  Tick now() const { return logs_.hand(); }
  Tick first_of_agenda() const { return agenda_.empty() ? kNever : agenda_.back().due; }
  Tick next_look() const { return std::min(logs_.next(), first_of_agenda()); }

  template <class Sink>
  std::size_t look_and_fire(Tick now, Sink& sink) {
    const std::size_t before = size();
    const Tick start = this->now();
    if (next_look() <= start) [[unlikely]]
      gather_what_is_left();
    // What was due when it was armed, in the order of rule 6.
    if (!overdue_.empty()) logs_.fire_in_order(overdue_, start, start, place(), sink);
    while (next_look() <= now) {
      if (logs_.next() <= first_of_agenda()) {
        logs_.move_hand(logs_.next());
        open_buckets(sink);
      } else {
        fire_first(sink);
      }
    }
    logs_.move_hand(now);
    if (logs_.cascades_ahead()) logs_.cascade_ahead(now - start, place());
    const std::size_t fired = before - size();
    logs_.tidy(fired, place());
    idle_until_ = logs_.cascades_ahead() ? 0 : std::min(next_look(), logs_.end_of_block());
    return fired;
  }

  // After an advance() that ran out of memory: what it has not looked at may have been armed for the
  // past since, and is overdue then.
  [[gnu::noinline]] void gather_what_is_left() {
    const auto place_again = [this](TimerId id, Timer& timer, Tick due) {
      if (due <= now()) {
        add_overdue(id, timer);
      } else {
        logs_.append(id, timer, due);
      }
    };
    for (; first_of_agenda() <= now(); agenda_.pop_back()) {
      const auto [due, id] = agenda_.back();
      logs_.look_again(id, logs_[id], due, place_again);
    }
    logs_.cascade_begun(place_again);
    logs_.take_all(logs_.at_hand(0),
                   [&](TimerId id) { logs_.look_again(id, logs_[id], now(), place_again); });
    logs_.find_next();
  }

  // Gives the timer an entry that is looked at at this tick or before.
  auto place() {
    return [this](TimerId id, Timer& timer, Tick due) {
      if (due <= now()) {
        add_overdue(id, timer);
      } else if (due <= agenda_last_ && agenda_.size() < kMost) {
        add_to_agenda(id, timer, due);
      } else {
        logs_.append(id, timer, due);
      }
      idle_until_ = std::min(idle_until_, timer.look);
    };
  }

  auto place_in_logs() {
    return [this](TimerId id, Timer& timer, Tick due) { logs_.append(id, timer, due); };
  }

  // Not inline, so that place() is.
  [[gnu::noinline]] void add_overdue(TimerId id, Timer& timer) {
    logs_.append(overdue_, id);
    timer.look = now();
  }

  void add_to_agenda(TimerId id, Timer& timer, Tick due) {
    const Entry entry{due, id};
    agenda_.insert(std::upper_bound(agenda_.begin(), agenda_.end(), entry, is_later), entry);
    timer.look = due;
  }

  // Empties the buckets that begin now, at most one on each level; that of one tick last, since a
  // cascade may put timers into it.
  template <class Sink>
  void open_buckets(Sink& sink) {
    for (unsigned level = logs_.levels_begun(); level > 0; --level) {
      const auto bucket = logs_.at_hand(level);
      if (!logs_.is_queued(bucket)) continue;
      if (logs_.size(bucket) > std::min(kShort, kMost - agenda_.size())) {
        logs_.cascade(bucket, logs_.kAll, place_in_logs());
      } else {
        open(bucket);
      }
    }
    if (logs_.is_queued(logs_.at_hand(0))) fire_bucket(sink);
    logs_.find_next();
  }

  template <class Bucket>
  void open(Bucket bucket) {
    agenda_last_ = std::max(agenda_last_, bucket.last());
    const Tick begin = bucket.begin();
    logs_.take(bucket, logs_.kAll, [&](TimerId id) {
      Timer& timer = logs_[id];
      const bool is_pending = timer.deadline != kNever;  // the last bucket of time ends there
      if (timer.look == begin && is_pending && timer.deadline <= bucket.last()) {
        agenda_.push_back({timer.deadline, id});
        timer.look = timer.deadline;
      } else {
        logs_.look_again(id, timer, begin, place_in_logs());
      }
    });
    std::sort(agenda_.begin(), agenda_.end(), is_later);
  }

  // Fires the bucket of one tick that begins now.
  template <class Sink>
  void fire_bucket(Sink& sink) {
    logs_.take_all(logs_.at_hand(0),
                   [&](TimerId id) { logs_.look_at(id, now(), now(), place(), sink); });
  }

  template <class Sink>
  void fire_first(Sink& sink) {
    const auto [due, id] = agenda_.back();
    logs_.look_at(id, due, due, place(), sink);
    agenda_.pop_back();  // now, so that nothing is lost if memory runs out
  }

  Logs logs_;
  std::vector<Entry> agenda_;  // the latest first
  Tick agenda_last_ = 0;       // what is armed for up to this goes to the agenda
  Tick idle_until_ = 0;        // advance() to before this has nothing to do but to move the hand
  typename Logs::Log overdue_;
};
static_assert(TimerQueue<LogCalendar<256>>);

}  // namespace timerbench
