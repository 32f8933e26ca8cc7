// Waits of the harness itself: that the user can end, by an alarm that disturbs no service.
#pragma once

#include <memory>

#include "core/backend_error.h"
#include "services/clock.h"
#include "system/stop.h"

namespace timerbench {

// By timerfd, punctual to some 5 us; where the system refuses it, by a condition variable. Not by
// nanosleep: the thread's timer slack would be that of the threads which it starts, too.
inline std::unique_ptr<Alarm> make_punctual_alarm() {
  try {
    return SteadyClock(Waiting::timerfd).make_alarm();
  } catch (const BackendUnavailable&) {
    return SteadyClock(Waiting::condition).make_alarm();
  }
}

// Waits for `instant`, and looks at the flag ten times a second. Returns whether the instant has
// come; if not, `stop` is set.
inline bool wait_until(const Clock& clock, Alarm& alarm, Tick instant, const StopFlag& stop) {
  constexpr Tick kGlance = 100'000'000;
  for (Tick now = clock.now(); now < instant; now = clock.now()) {
    if (stop.load(std::memory_order_relaxed)) return false;
    // The last wait is a long one, so that it is not cut short by the glance before.
    alarm.wait_until(instant - now > 2 * kGlance ? now + kGlance : instant);
  }
  return true;
}

}  // namespace timerbench
