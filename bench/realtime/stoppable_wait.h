// Waits of the harness itself, which the user can end. Their alarm does not disturb any service.
#pragma once

#include <memory>

#include "core/backend_error.h"
#include "services/clock.h"
#include "system/stop.h"

namespace timerbench {

// Uses timerfd, punctual to some 5 us, or a condition variable if the system refuses it. Not
// nanosleep: threads that this thread starts would inherit its timer slack.
inline std::unique_ptr<Alarm> make_punctual_alarm() {
  try {
    return SteadyClock(Waiting::timerfd).make_alarm();
  } catch (const BackendUnavailable&) {
    return SteadyClock(Waiting::condition).make_alarm();
  }
}

// Waits for `instant`, and checks the flag ten times a second. Returns whether the instant has
// come; if not, `stop` is set.
inline bool wait_until(const Clock& clock, Alarm& alarm, Tick instant, const StopFlag& stop) {
  constexpr Tick kGlance = 100'000'000;
  for (Tick now = clock.now(); now < instant; now = clock.now()) {
    if (stop.load(std::memory_order_relaxed)) return false;
    // The last wait is long, so that the check before it does not cut it short.
    alarm.wait_until(instant - now > 2 * kGlance ? now + kGlance : instant);
  }
  return true;
}

}  // namespace timerbench
