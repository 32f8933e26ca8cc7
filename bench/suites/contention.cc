// The suite `contention`: how a service behaves under calls from several threads. Sizes are
// threads.
#include "realtime/contention.h"

#include <fmt/core.h>

#include "suites/realtime_suite.h"
#include "system/stop.h"

namespace timerbench {
namespace {

RealtimeFigures measure(Pattern pattern, const ServiceBackend& service, std::uint64_t threads,
                        const RealtimeOptions& options) {
  const ContentionFigures measured = run_contention(
      {.pattern = pattern, .threads = threads, .seconds = options.seconds, .seed = options.seed},
      service, interrupted());
  const auto p99_9 = measured.schedule.quantile(0.999);
  return {.failure = measured.failure,
          .seconds = measured.seconds,
          .label = fmt::format("{}, per call", ranking(service.traits)),
          .summary =
              fmt::format("{:>10.0f} calls/s  {:>7.0f} ns of processor a call  schedule p99.9 {}",
                          measured.calls_per_second(), measured.cpu_ns_per_call(),
                          p99_9 ? fmt::format("{:.1f} us", *p99_9 / 1e3) : "-"),
          .counters = {{"calls_per_second", measured.calls_per_second()},
                       {"cpu_ns_per_call", measured.cpu_ns_per_call()},
                       {"fired_share", measured.fired_share()},
                       {"cancelled_share", measured.cancelled_share()},
                       {"clock_ns", measured.clock_ns}},
          .distributions = {{"schedule", measured.schedule}, {"cancel", measured.cancel}}};
}

Scenario scenario(Pattern pattern, std::string summary) {
  return {.name = std::string(name(pattern)),
          .summary = std::move(summary),
          .sizes = {1, 2, 4, 8},
          .measure = [pattern](const auto& service, std::uint64_t threads, const auto& options) {
            return measure(pattern, service, threads, options);
          }};
}

}  // namespace

RealtimeSuite contention_suite() {
  return {
      .name = "contention",
      .summary = "calls per second and their tails against the number of threads, audited",
      .size_is = "threads",
      .largest_size = 63,
      .scenarios = {scenario(Pattern::own, "each thread arms, moves and cancels its own timers"),
                    scenario(Pattern::cross, "armed on one thread, cancelled on the next"),
                    scenario(Pattern::hot, "all threads on the same 64 timers")},
      .rounds = 3,
      .seconds = 0.5};
}

}  // namespace timerbench
