// The load of a purgatory: a server holds requests until they are answered or time out. Measures
// what holding them costs.
//
// Requests arrive as a Poisson process and are answered after a log-normal time. The plan is drawn
// before the measurement. One thread makes each request at its planned instant, or as soon as it
// can if it is behind. So a slow purgatory makes requests late, not fewer. If a request's latency
// is below the time-out, the load's own delay queue completes it when the latency has passed since
// it was made. Otherwise the purgatory's timer expires it. The same keys watch all requests and are
// never checked. So the figures measure the timers, the lists and their purge, and the load itself,
// which is the same for every service.
//
// Followed: Kafka's TestPurgatoryPerformance, with the meaning of its Scala version: a request
// completes after its latency (in the Java version after the time-out, KAFKA-17568), and arrivals
// and latencies are whole milliseconds. Deviations: each request has its own latency and interval,
// where Kafka draws from pools of 10^6; the keys of a request differ from each other; lateness is
// measured.
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

inline constexpr std::uint32_t kMostRequests = 10'000'000;

struct PurgatoryLoad {
  std::uint32_t num;                   // requests
  double rate;                         // requests per second
  double pct50;                        // median of the latency, in ms
  double pct75;                        // its 75th percentile, in ms
  std::uint32_t timeout;               // in ms
  std::uint32_t keys = 3;              // keys that watch a request
  std::uint32_t key_space_size = 100;  // keys to choose from; chosen once
  std::uint64_t seed = 1;
};

// Throws std::invalid_argument, with one line, if the load cannot be run.
void validate(const PurgatoryLoad& load);

// The share of requests that time out in the long run: those with latency >= time-out.
double expected_timeout_fraction(const PurgatoryLoad& load);

// In nanoseconds, but whole milliseconds.
struct PlannedRequest {
  Tick arrival;  // from the start
  Tick latency;
};

struct PurgatoryPlan {
  std::vector<PlannedRequest> requests;
  std::vector<std::uint32_t> keys;
};

// The same load gives the same plan. Arrivals do not depend on the latency's parameters, nor
// latencies on the rate. Throws Interrupted. REQUIRES: validate(load) does not throw.
PurgatoryPlan make_plan(const PurgatoryLoad& load);

struct PurgatoryFigures {
  std::uint64_t requests = 0;   // made: all, unless interrupted
  std::uint64_t completed = 0;  // of these, by an answer or by expiry
  std::uint64_t timed_out = 0;  // of these, by expiry
  std::uint64_t early = 0;      // of these, before their deadline

  // Seconds from the start to the last completion.
  double elapsed = 0;
  double cpu = 0;  // of all threads of the process, the load's included

  // Requests per second: as planned, and as made.
  double target_rate = 0;
  double actual_rate = 0;
  // The share of the planned rate at which requests are made and expire, 0 to 1: see pace.h.
  double pace = 1;
  bool saturated() const { return actual_rate < kKeepsUp * target_rate || pace < kKeepsUp; }

  Durations arrival_lateness;     // of requests behind the plan
  Durations completion_lateness;  // behind arrival + latency, of answered requests
  Durations expiry_lateness;  // behind arrival + time-out, of expired requests that were not early

  std::uint64_t wakeups = 0;   // of the purgatory
  std::uint64_t failures = 0;  // of the purgatory

  // The audit. Each request completes once. Requests are handed back if the run is interrupted, or
  // if none has completed for 5 s after the last deadline.
  std::uint64_t pending = 0;
  std::uint64_t lost = 0;      // neither completed nor handed back
  std::uint64_t repeated = 0;  // completed more than once
  bool interrupted = false;

  bool audit_passed() const {
    return lost == 0 && repeated == 0 && failures == 0 && (interrupted || pending == 0);
  }

  // The share of completed requests; 0 if there are none.
  double timeout_fraction() const {
    return completed > 0 ? static_cast<double>(timed_out) / static_cast<double>(completed) : 0;
  }
};

// Runs the load on a purgatory over the service, which waits in the given way. Ends within a second
// of `stop`, with the figures so far. Before the start it obeys interrupted() and throws
// Interrupted. Throws std::invalid_argument, OutOfMemory, BackendUnavailable and BackendError.
PurgatoryFigures run_purgatory(const PurgatoryLoad& load, const ServiceBackend& backend,
                               Waiting waiting, const StopFlag& stop);

}  // namespace timerbench
