// Instants as the kernel takes them.
#pragma once

#include <time.h>

#include <algorithm>
#include <limits>

#include "core/timer_queue.h"

namespace timerbench {

// For an absolute timer of CLOCK_MONOTONIC; kNever disarms it. The kernel's clock ends 292 years
// after the machine's start; a timer for later is set for that end.
inline timespec kernel_instant(Tick deadline) {
  if (deadline == kNever) return {};
  constexpr Tick kSecond = 1'000'000'000;
  constexpr Tick kEnd = std::numeric_limits<std::int64_t>::max();
  const Tick instant = std::clamp<Tick>(deadline, 1, kEnd);
  return {.tv_sec = static_cast<time_t>(instant / kSecond),
          .tv_nsec = static_cast<long>(instant % kSecond)};
}

}  // namespace timerbench
