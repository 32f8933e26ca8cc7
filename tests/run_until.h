// Contention of a service that goes on until there are figures enough.
#pragma once

#include "realtime/contention.h"
#include "system/stop.h"

namespace timerbench {

inline const StopFlag kNoStop = false;

// Runs for `options.seconds`, and then longer and longer until there are figures enough: how much the
// threads get done in a while, others decide.
template <class Enough>
ContentionFigures run_until(Enough enough, ContentionOptions options,
                            const ServiceBackend& service) {
  constexpr double kMostSeconds = 10;
  for (;; options.seconds *= 4) {
    const ContentionFigures figures = run_contention(options, service, kNoStop);
    if (enough(figures) || options.seconds > kMostSeconds) return figures;
  }
}

}  // namespace timerbench
