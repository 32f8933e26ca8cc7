// The contract of a timer queue: what a backend must offer, and what it may promise.
//
// A timer queue holds pending timers in virtual time. It is single-threaded, has no clock inside
// and makes no callbacks but the sink of advance(). Timers are named by dense ids that the caller
// chooses, the index of the object that owns the timer, so no handle table stands between a backend
// and its user: ZADD/ZREM, mod_timer/del_timer and a keyed ring work the same way.
//
// The rules. `now` is the largest instant given to advance() so far, or QueueConfig::start.
//
//  1. Never early.  The sink is called by advance(now) for a deadline d only if now >= d.
//  2. On time.  A timer fires in the first advance(now) with now >= round_up(d, granularity). For
//     Precision::exact the granularity does not matter; for `granular` it is the rounding; for
//     `relative` (a wheel that never cascades) it may fire later than that by 8/63 of the delay,
//     which is d minus `now` when it was armed: the bound of Linux' wheel, whose levels of 64 slots
//     are entered at a distance of 63. For `early` the latest instant is d.
//  3. Once.  An id has at most one pending deadline. schedule() on a pending id moves it. It fires
//     once per arming.
//  4. Cancel returns true exactly when a pending timer was removed: false for a fired, a cancelled
//     or a never armed id.
//  5. Past deadlines (d <= now) are accepted and fire at the next advance() that rule 2 allows,
//     even one to the same `now`.
//  6. Order.  If Traits::ordered, one advance() fires in non-decreasing order of the rounded
//     deadline. Ties are free.
//  7. Far deadlines up to kNever - 1 are accepted, never overflow, never fire early, never hang.
//  8. Jumps.  advance() costs what it fires and moves, not the distance: one pending timer and a
//     jump of 3e10 ticks take less than 1 ms. Time does not run backwards: a smaller `now` is a
//     no-op.
//  9. next_wakeup() is never later than the next instant at which something is due, and kNever if
//     and only if nothing is pending. It may be earlier; such empty wakeups are counted. 9b: after
//     an advance(now) that fired nothing it is later than `now`. Its cost does not grow with the
//     number of pending timers.
// 10. The sink must not call back into the queue, nor throw: what is due could be lost. Whoever wants
//     to re-arm collects first, in memory that is reserved.
//
// Precision::early is exempt from rule 1, by less than one granule: Kafka rounds down. Such a backend
// is measured and labelled, and never ranked with the others.
//
// Two licences exempt libraries that cannot do better from a rule; each list and table shows them.
// Traits::walks_ticks exempts from rule 8: a jump may take 1 us for each tick of its distance.
// Traits::guesses_wakeup exempts from rule 9b: while anything is pending, next_wakeup() may be an
// instant at which advance() has found nothing to do; so a caller that sleeps must call advance() at
// every tick.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace timerbench {

// Virtual time, in whatever unit the trace says.
using Tick = std::uint64_t;

// An index into the caller's own objects, below QueueConfig::capacity.
using TimerId = std::uint32_t;

// "No instant": later than every deadline.
inline constexpr Tick kNever = ~Tick{0};

struct QueueConfig {
  TimerId capacity;      // ids are 0 .. capacity - 1, or none; a queue sizes its arrays by it, once
  Tick start = 0;        // the instant at which the queue begins
  Tick granularity = 1;  // >= 1; what a granular backend rounds deadlines to
};

enum class Precision {
  exact,     // fires in the first advance() at or after the deadline
  granular,  // the deadline is rounded up to a multiple of the granularity
  relative,  // late by at most 8/63 of the delay, and the rounding
  early,     // the deadline is rounded down to a multiple of the granularity
  none,      // keeps no promise: a control that shows what the harness itself costs
};

constexpr std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::exact: return "exact";
    case Precision::granular: return "granular";
    case Precision::relative: return "relative";
    case Precision::early: return "early";
    case Precision::none: return "none";
  }
  return "?";
}

struct Traits {
  std::string_view name;     // snake_case, with the setting if there are several: ring_512
  std::string_view summary;  // the structure, in one line
  Precision precision;
  bool ordered;              // rule 6
  std::string_view paper;    // the paper or system that it follows
  bool remote = false;       // operations are messages to another process, so suites measure fewer
  bool is_library = false;   // the code of others, behind an adapter; ranked apart from own code
  bool walks_ticks = false;  // a licence to break rule 8
  bool guesses_wakeup = false;          // a licence to break rule 9b
  const char* file = __builtin_FILE();  // where this is written: the backend's source
};

// What a contender is ranked among, as every table calls it: its precision, and whether it is a
// library. `traits`: of a backend or a service.
template <class Traits>
constexpr std::string_view ranking(const Traits& traits) {
  if (traits.is_library) {
    switch (traits.precision) {
      case Precision::exact: return "exact library";
      case Precision::granular: return "granular library";
      case Precision::relative: return "relative library";
      case Precision::early: return "early library";
      case Precision::none: break;  // a control of the harness
    }
  }
  return to_string(traits.precision);
}

// What the backend has a licence for, as every list and table shows it; nothing, if it has none.
constexpr std::string_view licence(const Traits& traits) {
  if (traits.walks_ticks && traits.guesses_wakeup) {
    return "advance() walks every tick, and next_wakeup() guesses";
  }
  if (traits.walks_ticks) return "advance() walks every tick";
  if (traits.guesses_wakeup) return "next_wakeup() guesses";
  return "";
}

// The sink of whoever only wants the count.
struct IgnoreExpiry {
  void operator()(TimerId, Tick) const {}
};

// REQUIRES of the caller: id < capacity; deadline < kNever and now < kNever (next_wakeup() of an
// empty queue is no instant to advance to); one thread. A backend that needs something beyond
// memory (a server) throws BackendUnavailable from its constructor and BackendError from any call;
// all others throw nothing but std::bad_alloc, and std::invalid_argument from the constructor of a
// granular or relative one if the granularity is 0.
template <class Q>
concept TimerQueue = std::constructible_from<Q, const QueueConfig&> &&
    requires(Q q, const Q& cq, TimerId id, Tick t) {
  { Q::traits } -> std::convertible_to<const Traits&>;
  // Arms the timer, or moves it if it is pending.
  { q.schedule(id, t) } -> std::same_as<void>;
  // True iff it prevented a fire.
  { q.cancel(id) } -> std::same_as<bool>;
  // Fires all that is due: sink(id, deadline), with the deadline that schedule() got, not rounded.
  // Returns how many.
  { q.advance(t, IgnoreExpiry{}) } -> std::same_as<std::size_t>;
  // When advance() next has work.
  { cq.next_wakeup() } -> std::same_as<Tick>;
  // Pending timers.
  { cq.size() } -> std::same_as<std::size_t>;
};

// What has been done so far beside firing: by advance(), and by the sweeps of other calls. A queue
// that can tell has `AdvanceWork work() const`, which explains why one advance() took long; keeping
// it must cost nothing where there is nothing to do.
struct AdvanceWork {
  std::uint64_t moved = 0;   // timers put elsewhere: cascaded or swept
  std::uint64_t passed = 0;  // timers or entries looked at that neither fired nor moved
  std::uint32_t level = 0;   // from which a timer was moved last
};

// A queue that keeps things in order, timers or groups of them, has `std::size_t queued() const`:
// how many they are now. A heap orders its timers, a hierarchical wheel the buckets that it has
// queued.

// A queue whose calls may return before they are carried out also has `void sync()`: it returns
// when they all are, and throws what went wrong with them. Whoever measures waits for it.
template <class Q>
void sync(Q& queue) {
  if constexpr (requires { queue.sync(); }) queue.sync();
}

}  // namespace timerbench
