// What the machine itself is late by, with no timer service: the control of every lateness. And what
// the harness itself costs, with a service that does nothing.
//
// A thread of its own waits by an alarm for planned instants, and for each the difference is kept
// between it and the clock after the wait. An instant that has passed while the wakeup for the one
// before was late counts from its plan on, as it would for a service that costs nothing.
#pragma once

#include <span>

#include "realtime/service.h"
#include "replay/durations.h"
#include "services/clock.h"
#include "system/stop.h"

namespace timerbench {

// Until each of `offsets`, in ns from the start and in order: PacedPlan::fires(), to compare with a
// paced run. Throws BackendUnavailable. If `stop` is set, of those so far.
Durations measure_sleep_lateness(Waiting waiting, std::span<const Tick> offsets,
                                 const StopFlag& stop);

// One instant in every period, at a random phase, so that none of the machine's own is met.
Durations measure_sleep_lateness(Waiting waiting, int samples, Tick period, const StopFlag& stop);

// A service without a structure and without threads: it fires each timer as it is armed, whenever
// that is due. What run_paced() measures with it is the generator of the load.
ServiceBackend idle_service();

// Ends of waits per second, of all threads of a service whose only timer is an hour away. Throws
// BackendUnavailable.
double idle_wakeups_per_second(const ServiceBackend& backend, Waiting waiting, Tick granularity,
                               double seconds, const StopFlag& stop);

}  // namespace timerbench
