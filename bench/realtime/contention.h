// Contention: what several threads do to a timer service, and it to them.
//
// Every thread calls the service as fast as it can, in one of three patterns (below). Three passes,
// each with a service of its own:
//
//   audit       every call is recorded and every answer checked (audited_service.h). A service that
//               fails is not measured. At most 256 timers a thread, delays of every magnitude up to
//               512 granules, threads that pause now and then: so that a timer is often
//               called, and often fires while it is.
//   throughput  no clock inside: calls and processor time, until the time is up
//   latency     of one call in 32, at random (every one, if the service is remote), its duration
//
// In the measured passes a timer is what time-outs are: armed for 30 to 60 s, and cancelled or moved
// long before. One arming in 256 is for the next 2 ms instead and mostly fires, unless its thread,
// or another, is faster; the shares are in the figures. All timers are armed beforehand, so the
// structures are as full as they stay; and equally full for any number of threads, so that what these
// cost is not mixed with what a larger population costs.
//
// What the harness adds to a call (a random number or two, and across threads its part of the ring)
// is in the figures: 5 to 15 ns, as a service shows that does nothing and promises nothing; such a
// control is not audited. A thread that finds nothing to cancel in `cross` yields, and that is in
// the processor time too. This is of the whole process, so of the service's own threads, and not of
// a server elsewhere. With more threads than processors a call's duration has turns of other threads
// in it.
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
  // Each thread has timers of its own: of T threads every T-th id, as a server has it that deals out
  // its connections, so that a service in shards can have a shard for a thread. A random one is
  // armed if it is not; else it is moved or cancelled, one as often as the other: a third of the
  // calls each.
  own,
  // The threads stand in a circle. Each takes timers that the one before it has armed, cancels them,
  // arms them anew and passes them on: armed on one thread, cancelled on the next, fired on the
  // service's. A single thread is its own neighbour.
  cross,
  // All threads arm (or move) and cancel random ones of the same 64 timers.
  hot,
};

inline constexpr Pattern kPatterns[] = {Pattern::own, Pattern::cross, Pattern::hot};

std::string_view name(Pattern pattern);

struct ContentionOptions {
  Pattern pattern = Pattern::own;
  std::size_t threads = 1;  // 1 .. 63
  TimerId timers = 32'768;  // shared out evenly, one each at least; hot has 64 whatever this says
  double seconds = 1;       // of each pass
  Tick granularity = 1'000'000;
  Waiting waiting = Waiting::condition;
  std::uint64_t seed = 1;
};

struct ContentionFigures {
  std::string
      failure;  // not empty: why the rest is not to be used; the text begins with its status

  // Throughput.
  std::uint64_t calls = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  std::uint64_t armings = 0;  // moves are armings too
  std::uint64_t fired = 0;
  std::uint64_t cancelled = 0;

  // Latency, in ns; `clock_ns` of each is the clock's own.
  Durations schedule;
  Durations cancel;
  double clock_ns = 0;

  // Audit.
  AuditedService::Counts audited;

  double calls_per_second() const { return static_cast<double>(calls) / seconds; }
  double cpu_ns_per_call() const { return cpu_seconds * 1e9 / static_cast<double>(calls); }
  // Of the armings; the others were moved or are pending.
  double fired_share() const { return static_cast<double>(fired) / static_cast<double>(armings); }
  double cancelled_share() const {
    return static_cast<double>(cancelled) / static_cast<double>(armings);
  }
};

enum class AuditEnd {
  drained,     // the threads end first, and what is due fires
  amid_calls,  // the service is stopped while the threads call, timers fire and handlers run
};

// The audit pass alone: what the service did wrong, if anything. Throws BackendUnavailable,
// BackendError.
std::optional<std::string> audit_contention(const ContentionOptions& options,
                                            const ServiceBackend& backend, AuditEnd end,
                                            AuditedService::Counts& counts, const StopFlag& stop);

// All passes; ends within a second of `stop`. Takes three times options.seconds, and a second for
// the audit. Throws BackendUnavailable, BackendError.
ContentionFigures run_contention(const ContentionOptions& options, const ServiceBackend& backend,
                                 const StopFlag& stop);

}  // namespace timerbench
