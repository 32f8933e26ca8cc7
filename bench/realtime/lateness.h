// Why a timer was late: the structure's rounding, the system's wakeup, or waiting behind others.
//
// Lateness is fire - deadline. It is explained after the run from the recorded waits of the
// service's alarms. A timer is owed from the instant at which it is due and known: its deadline
// (rounded up for a service of Precision::granular), or its arming if that came later. The time
// from the deadline to the fire has three parts:
//
//   rounding    The thread slept because it had asked to: the structure alone chose the instant.
//               For example a tick, a poll interval, or a wheel that looks later than it should.
//               The rounding of the deadline to the granularity belongs here too.
//   wakeup      The thread still slept after that instant, or after a ring: the system's part.
//   processing  The thread was awake: it ran other timers, held or awaited locks, moved buckets.
//               The delay of a late arming and the hand-over to another thread belong here too.
//
// The three are never negative, and their sum is the lateness.
//
// Whose sleep counts? That of the thread that ran the handler, if its last wait was for an instant:
// the driver of `locked`, a shard's own, the leader of a delay queue. If that thread had only
// waited for a ring (an executor's thread, a follower), another thread noticed the timer and handed
// it over. Then the wait is the timed one that was going on when the timer became owed and that
// ended first, before the fire; all time after it is processing.
//
// Examples:
//
//   - The driver sleeps until R and wakes at E: wakeup E - R, processing fire - E. For a timer due
//     between R and E, the wakeup starts at its own deadline.
//   - A ticking driver sleeps past R to T, wakes at E: rounding T - R, wakeup E - T. If it was
//     awake at R, missed the timer and then slept, the time awake is processing, the sleep
//     rounding.
//   - A wheel wakes at R' < R to cascade, late, at E > R: wakeup E - R, and the cascade is
//     processing.
//   - A timer armed after its deadline rings the driver: processing up to the arming, then wakeup.
//   - An old leader oversleeps while a new one waits for an earlier deadline: each thread has its
//     own waits, and the fire says which of them ran it.
//   - A poller sleeps an interval: rounding up to its end, the round trip is processing.
//
// Known errors: if a poller is rung for another timer, the rest of its sleep counts as wakeup. If a
// timer is armed too late for a driver whose queue is empty and which sleeps without an instant,
// that wakeup counts as processing. With several drivers and an executor, the wait may be that of
// another driver that ended a little earlier.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/timer_queue.h"
#include "realtime/watched_clock.h"

namespace timerbench {

// The fire of a timer. REQUIRES: deadline <= due; deadline <= fired.
struct Expiry {
  Tick deadline;
  Tick due;    // the deadline, rounded as the service promises
  Tick armed;  // when the service learned of it
  Tick fired;
  std::uint32_t alarm;  // of the thread that ran the handler, or WatchedClock::kNoAlarm

  // When the timer became owed.
  Tick owed() const { return std::min(std::max(due, armed), fired); }
};

struct Lateness {
  Tick rounding;
  Tick wakeup;
  Tick processing;

  Tick sum() const { return rounding + wakeup + processing; }
  bool operator==(const Lateness&) const = default;
};

// The waits that explain the lateness, as described above. `waits` are WatchedClock::waits().
// O(alarms log waits).
std::span<const Wait> waits_behind(const Expiry& expiry, std::span<const std::vector<Wait>> waits);

// `waits` do not overlap and are in order.
Lateness split_lateness(const Expiry& expiry, std::span<const Wait> waits);

}  // namespace timerbench
