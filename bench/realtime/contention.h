// Contention: how a timer service behaves when several threads call it.
//
// Every thread calls the service as fast as it can, in one of three patterns (below). There are
// three passes, each with a new service:
//
//   audit       records every call and checks every answer (audited_service.h). A service that
//               fails is not measured. At most 256 timers a thread, delays of every magnitude up to
//               512 granules, and threads that pause now and then: so timers are often called, and
//               often fire meanwhile.
//   throughput  without clock reads: calls and processor time, until the time is up
//   latency     the duration of a random call in 32 (of every call if the service is remote)
//
// In the measured passes the timers are time-outs: armed for 30 to 60 s, and cancelled or moved
// long before. One arming in 256 is for the next 2 ms instead. It mostly fires, unless a thread
// cancels or moves it first; the figures include these shares. All timers are armed beforehand, so
// the structures stay equally full, also for any number of threads. So the cost of threads is not
// mixed with the cost of a larger population.
//
// The figures include what the harness adds to a call: a random number or two, and in `cross` a
// share of the ring. A service that does nothing shows that this is 5 to 15 ns; such a control is
// not audited. A thread that finds nothing to cancel in `cross` yields, which adds to the processor
// time. The processor time is that of the process, so it includes the service's own threads but not
// a server elsewhere. With more threads than processors, the duration of a call includes turns of
// other threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "realtime/audited_service.h"
#include "realtime/service.h"
#include "replay/durations.h"
#include "services/clock.h"
#include "system/stop.h"

namespace timerbench {

enum class Pattern {
  // Each of T threads has its own timers, every T-th id, like a server that deals out its
  // connections. So a sharded service can have a shard for each thread. A random timer is armed if
  // it is not pending, else moved or cancelled with equal chance: a third of the calls each.
  own,
  // The threads form a circle. Each takes timers that its predecessor has armed, cancels them, arms
  // them again and passes them on. So a timer is armed on one thread, cancelled on the next, and
  // fires on the service's. A single thread is its own neighbour.
  cross,
  // All threads arm (or move) and cancel random timers out of the same 64.
  hot,
};

inline constexpr Pattern kPatterns[] = {Pattern::own, Pattern::cross, Pattern::hot};

std::string_view name(Pattern pattern);

struct ContentionOptions {
  Pattern pattern = Pattern::own;
  std::size_t threads = 1;  // 1 .. 63
  TimerId timers = 32'768;  // divided evenly, at least one for each thread; hot always has 64
  double seconds = 1;       // of each pass
  Tick granularity = 1'000'000;
  Waiting waiting = Waiting::condition;
  std::uint64_t seed = 1;
};

struct ContentionFigures {
  std::string failure;  // if not empty, why the rest is invalid; the status comes first

  // Throughput.
  std::uint64_t calls = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  std::uint64_t armings = 0;  // moves included
  std::uint64_t fired = 0;
  std::uint64_t cancelled = 0;

  // Latency, in ns; `clock_ns` is the part of each that the clock reads take.
  Durations schedule;
  Durations cancel;
  double clock_ns = 0;

  // Audit.
  AuditedService::Counts audited;

  double calls_per_second() const { return static_cast<double>(calls) / seconds; }
  double cpu_ns_per_call() const { return cpu_seconds * 1e9 / static_cast<double>(calls); }
  // Shares of the armings; the others were moved or are pending.
  double fired_share() const { return static_cast<double>(fired) / static_cast<double>(armings); }
  double cancelled_share() const {
    return static_cast<double>(cancelled) / static_cast<double>(armings);
  }
};

enum class AuditEnd {
  drained,     // the threads end first, and due timers fire
  amid_calls,  // the service is stopped while threads call, timers fire and handlers run
};

// Runs the audit pass alone. Returns what the service did wrong, if anything. Throws
// BackendUnavailable and BackendError.
std::optional<std::string> audit_contention(const ContentionOptions& options,
                                            const ServiceBackend& backend, AuditEnd end,
                                            AuditedService::Counts& counts, const StopFlag& stop);

// Runs all passes. Ends within a second of `stop`. Takes three times options.seconds, and a second
// for the audit. Throws BackendUnavailable and BackendError.
ContentionFigures run_contention(const ContentionOptions& options, const ServiceBackend& backend,
                                 const StopFlag& stop);

}  // namespace timerbench
