// A wait that the user can end.
#pragma once

#include "services/clock.h"
#include "system/stop.h"

namespace timerbench {

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
