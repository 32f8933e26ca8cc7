// Controls of the paced runs: how late the machine itself is without a timer service, and what the
// harness costs with a service that does nothing.
//
// A separate thread waits by an alarm for planned instants. For each it records the difference to
// the clock after the wait. An instant that passes while the wakeup before it is late counts from
// its plan, as for a service that costs nothing.
#pragma once

#include <span>

#include "realtime/service.h"
#include "replay/durations.h"
#include "services/clock.h"
#include "system/stop.h"

namespace timerbench {

// Waits until each of `offsets`, in ns from the start and in order. With PacedPlan::fires() the
// result compares with a paced run. Throws BackendUnavailable. If `stop` is set, returns the
// lateness so far.
Durations measure_sleep_lateness(Waiting waiting, std::span<const Tick> offsets,
                                 const StopFlag& stop);

// One instant in every period, at a random phase, to avoid periods of the machine itself.
Durations measure_sleep_lateness(Waiting waiting, int samples, Tick period, const StopFlag& stop);

// A service without structure and threads. It fires each timer when it is armed, whenever that is
// due. With it run_paced() measures the generator of the load.
ServiceBackend idle_service();

// Ends of waits per second, of all threads of a service whose only timer is an hour ahead. Throws
// BackendUnavailable.
double idle_wakeups_per_second(const ServiceBackend& backend, Waiting waiting, Tick granularity,
                               double seconds, const StopFlag& stop);

}  // namespace timerbench
