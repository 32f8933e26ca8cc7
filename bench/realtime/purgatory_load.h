// The load of a purgatory: requests that a server holds until their answer is there or their time
// is over, and what holding them costs.
//
// Requests arrive as a Poisson process and take a log-normal time to be answered; the plan is drawn
// before anything is measured. One thread makes each request at its planned instant, or as soon as
// it can if it is behind, so that a purgatory that is too slow makes it late and not fewer. When the
// request's latency has passed since it was made, the load's own queue of delays completes it, if
// that is less than the time-out; else the purgatory's timer expires it. All requests are watched
// by the same keys, which are never checked: what is measured is the timers, the lists and their
// purge, and what the load itself costs, which is the same for every service.
//
// Followed: Kafka's TestPurgatoryPerformance, in the meaning of its Scala version: a request is
// completed after its latency (the Java one completes it after the time-out, KAFKA-17568), and both
// arrivals and latencies are whole milliseconds. Deviations: each request has a latency and an
// interval of its own, which there are drawn from pools of 10^6; the keys of a request differ from
// each other; lateness is measured.
#pragma once

#include <cstdint>
#include <vector>

#include "core/timer_queue.h"
#include "realtime/pace.h"
#include "realtime/service.h"
#include "replay/durations.h"
#include "services/clock.h"
#include "system/stop.h"

namespace timerbench {

struct PurgatoryLoad {
  std::uint32_t num;                   // requests
  double rate;                         // requests a second
  double pct50;                        // median of the latency, in ms
  double pct75;                        // its 75th percentile, in ms
  std::uint32_t timeout;               // in ms
  std::uint32_t keys = 3;              // that watch a request
  std::uint32_t key_space_size = 100;  // of which they are chosen, once
  std::uint64_t seed = 1;
};

// Throws std::invalid_argument, one line, if no such load can be run.
void validate(const PurgatoryLoad& load);

// How many of the requests time out in the long run: those whose latency is not below the time-out.
double expected_timeout_fraction(const PurgatoryLoad& load);

// In nanoseconds, whole milliseconds of them.
struct PlannedRequest {
  Tick arrival;  // since the start
  Tick latency;
};

struct PurgatoryPlan {
  std::vector<PlannedRequest> requests;
  std::vector<std::uint32_t> keys;
};

// The same for the same load; arrivals do not depend on the latency's parameters, nor that on the
// rate. Throws Interrupted. REQUIRES: validate(load) does not throw.
PurgatoryPlan make_plan(const PurgatoryLoad& load);

struct PurgatoryFigures {
  std::uint64_t requests = 0;   // that have arrived: all, unless interrupted
  std::uint64_t completed = 0;  // of these, by their answer or by expiry
  std::uint64_t timed_out = 0;  // of these, by expiry
  std::uint64_t early = 0;      // of these, before their deadline

  // Seconds, from the start to the last completion.
  double elapsed = 0;
  double cpu = 0;  // of all the process's threads, the load's included

  // Requests a second: by the plan, and as they were made.
  double target_rate = 0;
  double actual_rate = 0;
  // The share of the rate at which requests are made and expire, 0 to 1: see pace.h.
  double pace = 1;
  bool saturated() const { return actual_rate < kKeepsUp * target_rate || pace < kKeepsUp; }

  Durations arrival_lateness;     // of requests behind the plan
  Durations completion_lateness;  // behind arrival + latency, of those answered
  Durations expiry_lateness;      // behind arrival + time-out, of those that did, but not early

  std::uint64_t wakeups = 0;   // of the purgatory
  std::uint64_t failures = 0;  // likewise

  // The audit. Each request completes once; those that still wait when the run is interrupted, or
  // when none has completed for 5 s after the last deadline, are handed back.
  std::uint64_t pending = 0;
  std::uint64_t lost = 0;      // neither completed nor handed back
  std::uint64_t repeated = 0;  // completed more than once
  bool interrupted = false;

  bool audit_passed() const {
    return lost == 0 && repeated == 0 && failures == 0 && (interrupted || pending == 0);
  }

  // Of those completed; 0 if there are none.
  double timeout_fraction() const {
    return completed > 0 ? static_cast<double>(timed_out) / static_cast<double>(completed) : 0;
  }
};

// Runs the load on a purgatory over the service, which waits in the given way. Ends within a second
// when `stop` is set, with the figures so far; if it has not begun yet, interrupted() is heeded and
// it throws Interrupted. Throws std::invalid_argument, OutOfMemory, BackendUnavailable,
// BackendError.
PurgatoryFigures run_purgatory(const PurgatoryLoad& load, const ServiceBackend& backend,
                               Waiting waiting, const StopFlag& stop);

}  // namespace timerbench
