// Why a timer was late: the structure's rounding, the system's wakeup, or waiting behind others.
//
// Lateness is fire - deadline. It is worked out after the run, from what the service's alarms
// recorded. A timer is owed from the instant on at which it is due and known: its deadline, rounded
// up for a service of Precision::granular, or its arming if that came later. From then to its fire,
// every moment is one of three:
//
//   rounding    the thread slept because it had asked to: nobody but the structure chose the
//               instant. A tick, a poll interval, a wheel that looks later than it should. What the
//               granularity adds to the deadline is rounding too.
//   wakeup      the thread slept on after that, or after a ring: the system's part
//   processing  the thread was awake: it ran other timers, held or awaited locks, moved buckets.
//               What a late arming adds, and the hand-over to another thread, is processing too.
//
// The three are never negative, and their sum is the lateness.
//
// Whose sleep? That of the thread which ran the handler, if its last wait was for an instant: the
// driver of `locked`, a shard's own, the leader of a delay queue. If it had been waiting for a ring
// only (an executor's thread, a follower), another one noticed the timer and handed it over: then it
// is the timed wait that was going on when the timer came to be owed and that ended first, and
// before the fire; all that follows is processing.
//
// What this says of some cases:
//
//   The driver sleeps until R and wakes at E: wakeup E - R, processing fire - E. A timer due between
//   R and E has the wakeup from its own deadline on.
//   A ticking driver sleeps past R to T, wakes at E: rounding T - R, wakeup E - T. If it was awake
//   at R, did not see the timer any more and slept, the time awake is processing, the sleep rounding.
//   A wheel wakes at R' < R to cascade, late, at E > R: wakeup E - R, and the cascade is processing.
//   A timer armed after its deadline rings the driver: processing up to the arming, then wakeup.
//   An old leader oversleeps while a new one waits for an earlier deadline: each thread has its own
//   waits, and the fire says which of them ran it.
//   A poller that sleeps an interval: rounding up to its end, the round trip is processing.
//
// What it gets wrong: a poller that is rung for another timer counts the rest of its sleep as wakeup.
// A timer armed too late for a driver that sleeps without an instant, its queue empty, has that
// wakeup counted as processing. With several drivers and an executor the wait may be another
// driver's that ended a little earlier.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/timer_queue.h"
#include "realtime/watched_clock.h"

namespace timerbench {

// An expiry. REQUIRES: deadline <= due; deadline <= fired.
struct Expiry {
  Tick deadline;
  Tick due;    // the deadline, rounded as the service promises
  Tick armed;  // when the service came to know of it
  Tick fired;
  std::uint32_t alarm;  // of the thread that ran the handler, or WatchedClock::kNoAlarm

  // From when on it was to be fired.
  Tick owed() const { return std::min(std::max(due, armed), fired); }
};

struct Lateness {
  Tick rounding;
  Tick wakeup;
  Tick processing;

  Tick sum() const { return rounding + wakeup + processing; }
  bool operator==(const Lateness&) const = default;
};

// Of `waits`, those that explain the lateness: see above. `waits` are WatchedClock::waits().
// O(alarms log waits).
std::span<const Wait> waits_behind(const Expiry& expiry, std::span<const std::vector<Wait>> waits);

// `waits` do not overlap and are in order.
Lateness split_lateness(const Expiry& expiry, std::span<const Wait> waits);

}  // namespace timerbench
