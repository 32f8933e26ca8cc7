// The suite `purgatory`: a server holds requests until they are answered or time out. Sizes are
// requests per second.
#include <fmt/core.h>

#include <cmath>
#include <string>
#include <utility>

#include "realtime/purgatory_load.h"
#include "suites/cell_failure.h"
#include "suites/realtime_suite.h"
#include "system/stop.h"

namespace timerbench {
namespace {

RealtimeFigures measure(const PurgatoryLoad& load, const ServiceBackend& service) {
  const PurgatoryFigures measured = run_purgatory(load, service, Waiting::condition, interrupted());
  if (measured.interrupted && measured.completed == 0) throw_if_interrupted();
  const double requests = static_cast<double>(measured.requests);
  RealtimeFigures figures{
      .seconds = measured.elapsed,
      .saturated = measured.saturated() && !measured.interrupted,
      .interrupted = measured.interrupted,
      .label = fmt::format("{}, per request", ranking(service.traits)),
      .summary = fmt::format(
          "{:.1f} s, {:.2f} s of processor time  {:>7.0f} of {:.0f} requests/s  {:.2f} "
          "% timed out, "
          "{:.2f} % expected  {}{}",
          measured.elapsed, measured.cpu, measured.actual_rate, measured.target_rate,
          100 * measured.timeout_fraction(), 100 * expected_timeout_fraction(load),
          describe_lateness(measured.expiry_lateness), measured.saturated() ? ", saturated" : ""),
      .counters = {{"elapsed_seconds", measured.elapsed},
                   {"target_per_second", measured.target_rate},
                   {"actual_per_second", measured.actual_rate},
                   {"pace", measured.pace},
                   {"saturated", measured.saturated()},
                   {"cpu_seconds", measured.cpu},
                   {"cpu_share", measured.cpu / measured.elapsed},
                   {"cpu_ns_per_request", measured.cpu * 1e9 / std::max(1.0, requests)},
                   {"timed_out_share", measured.timeout_fraction()},
                   {"expected_timed_out_share", expected_timeout_fraction(load)},
                   {"early", static_cast<double>(measured.early)},
                   {"wakeups_per_second",
                    static_cast<double>(measured.wakeups) / measured.elapsed}},
      .distributions = {{"lateness", measured.expiry_lateness},
                        {"completion_lateness", measured.completion_lateness},
                        {"arrival_lateness", measured.arrival_lateness}}};
  if (!measured.audit_passed()) {
    figures.failure = fmt::format(
        "wrong: of {} requests {} were lost, {} completed more than once, {} never; {} "
        "calls or timers failed",
        measured.requests, measured.lost, measured.repeated, measured.pending, measured.failures);
  } else if (measured.early > 0 && service.traits.precision != Precision::early) {
    figures.failure = fmt::format("wrong: {} requests expired early", measured.early);
  }
  return figures;
}

// With the libraries, if they are built in, and the own services that were made from some of them.
std::vector<std::string_view> with_libraries(std::vector<std::string_view> names) {
  std::vector<std::string_view> libraries;
  for (const ServiceBackend& service : services()) {
    if (service.traits.is_library) libraries.push_back(service.traits.name);
  }
  if (!libraries.empty()) names.insert(names.end(), {"java_timer", "ring_timer"});
  names.insert(names.end(), libraries.begin(), libraries.end());
  return names;
}

// A scenario with the load's latencies and time-out, at the suite's or the user's rates.
Scenario at_rates(std::string name, std::string summary, const PurgatoryLoad& load) {
  return {
      .name = std::move(name),
      .summary = std::move(summary),
      .sizes = {1'000, 2'000, 5'000, 10'000, 20'000, 50'000, 100'000, 200'000, 500'000, 1'000'000},
      .contenders = with_libraries({"locked_log_wheel_256", "sharded_4_locked_log_wheel_256",
                                    "delay_queue", "system_timer"}),
      .measure = [load](const auto& service, std::uint64_t rate, const auto& options) {
        PurgatoryLoad own = load;
        own.rate = static_cast<double>(rate);
        const double requests = std::ceil(own.rate * options.seconds);
        if (requests > kMostRequests) {
          throw CellFailure(
              fmt::format("limit: {} requests are more than {}; choose fewer --seconds", requests,
                          kMostRequests));
        }
        own.num = static_cast<std::uint32_t>(requests);
        own.seed = options.seed;
        return measure(own, service);
      }};
}

}  // namespace

Scenario purgatory_scenario(const PurgatoryLoad& load) {
  return {.name = "own",
          .summary = "as given",
          .sizes = {static_cast<std::uint64_t>(std::ceil(load.rate))},
          .measure = [load](const auto& service, std::uint64_t, const auto&) {
            return measure(load, service);
          }};
}

RealtimeSuite purgatory_suite() {
  return {.name = "purgatory",
          .summary = "requests that are answered or time out: processor time against the rate",
          .size_is = "requests per second",
          .largest_size = kMostRequests,
          .scenarios = {at_rates("low", "latency 20 ms (p50), 60 ms (p75), time-out 200 ms",
                                 {.num = 0, .rate = 0, .pct50 = 20, .pct75 = 60, .timeout = 200}),
                        at_rates("high", "latency 200 ms (p50), 400 ms (p75), time-out 200 ms",
                                 {.num = 0, .rate = 0, .pct50 = 200, .pct75 = 400, .timeout = 200}),
                        at_rates("short", "latency 20 ms (p50), 50 ms (p75), time-out 100 ms",
                                 {.num = 0, .rate = 0, .pct50 = 20, .pct75 = 50, .timeout = 100})},
          .rounds = 3,
          .seconds = 3};
}

}  // namespace timerbench
