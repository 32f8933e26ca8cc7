// The suite `durable`: what timers cost that outlive the process, and how late they are. What a size
// counts is told by each scenario.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "durable/durable_load.h"
#include "suites/realtime_suite.h"
#include "system/stop.h"

namespace timerbench {
namespace {

using Measure =
    std::function<DurableFigures(DurableLoad, std::uint64_t size, const DurableContender&)>;

std::string in_us(const Durations& durations, double q) {
  const auto ns = durations.quantile(q);
  return ns ? fmt::format("{:.1f} us", *ns / 1e3) : "-";
}

RealtimeFigures figures_of(const DurableFigures& measured, const DurableContender& contender,
                           std::string_view first, std::string_view second) {
  const double timers = static_cast<double>(std::max<std::uint64_t>(measured.timers, 1));
  const double rate = timers / measured.seconds;
  RealtimeFigures figures{
      .failure = measured.failure,
      .seconds = measured.seconds,
      .saturated = measured.saturated,
      .label = fmt::format("{}, per timer", ranking(contender.traits)),
      .summary = fmt::format("{:>9.0f} timers/s  {} {}  {} {}  late by {}", rate, first,
                             in_us(measured.first, 0.5), second, in_us(measured.second, 0.5),
                             in_us(measured.lateness, 0.5)),
      .counters = {{"client_cpu_ns_per_timer", measured.client_cpu_seconds * 1e9 / timers}}};
  const auto add = [&](const char* name, double value) {
    if (value > 0) figures.counters.emplace_back(name, value);
  };
  if (measured.server_cpu_seconds) {
    add("server_cpu_ns_per_timer", *measured.server_cpu_seconds * 1e9 / timers);
  }
  add("bytes_in_memory", measured.bytes_in_memory);
  add("bytes_on_disk", measured.bytes_on_disk);
  add("restart_seconds", measured.restart_seconds);
  if (measured.offered_per_second > 0) {  // the load sets the rate
    add("offered_per_second", measured.offered_per_second);
    add("achieved_per_second",
        measured.offered_per_second * timers / static_cast<double>(measured.armed));
  } else {
    add("timers_per_second", rate);
  }
  const auto distribution = [&](std::string_view name, const Durations& durations) {
    if (durations.count() > 0) figures.distributions.emplace_back(std::string(name), durations);
  };
  distribution(first, measured.first);
  distribution(second, measured.second);
  distribution("lateness", measured.lateness);
  return figures;
}

DurableLoadScenario scenario(std::string name, std::string summary,
                             std::vector<std::uint64_t> sizes, std::string_view first,
                             std::string_view second, Measure measure) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .sizes = std::move(sizes),
          .measure = [=](const DurableContender& contender, std::uint64_t size,
                         const RealtimeOptions& options) {
            const DurableLoad load{.seconds = options.seconds};
            return figures_of(measure(load, size, contender), contender, first, second);
          }};
}

}  // namespace

DurableSuite durable_suite() {
  const auto churn = [](auto change) -> Measure {
    return [change](DurableLoad load, std::uint64_t size, const DurableContender& contender) {
      change(load, size);
      return measure_churn(load, contender, interrupted());
    };
  };
  return {
      .name = "durable",
      .summary = "timers that outlive the process: what they cost, and how late they fire",
      .size_is = "clients, timers a call, bytes, timers per second or timers",
      .largest_size = 10'000'000,
      .scenarios =
          {scenario("clients",
                    "each of so many clients arms a timer and cancels it, again and again",
                    {1, 4, 16}, "arm", "cancel",
                    churn([](DurableLoad& load, std::uint64_t size) { load.clients = size; })),
           scenario("batch", "one client arms so many timers with a call, and cancels each",
                    {1, 10, 100, 1000}, "arm", "cancel",
                    churn([](DurableLoad& load, std::uint64_t size) { load.batch = size; })),
           scenario("payload", "one client arms and cancels timers with so many bytes",
                    {16, 256, 4096}, "arm", "cancel",
                    churn([](DurableLoad& load, std::uint64_t size) { load.payload = size; })),
           scenario("workers",
                    "20 000 timers are due; so many workers claim and complete 100 a time",
                    {1, 4, 16}, "claim", "complete",
                    [](DurableLoad load, std::uint64_t size, const DurableContender& contender) {
                      load.clients = size;
                      load.batch = 100;
                      return measure_fire(load, 20'000, contender, interrupted());
                    }),
           scenario("rate", "so many timers a second are armed half a second before they are due",
                    {100, 1'000, 10'000}, "claim", "complete",
                    [](DurableLoad load, std::uint64_t size, const DurableContender& contender) {
                      load.batch = 100;
                      return measure_late(load, static_cast<double>(size), contender,
                                          interrupted());
                    }),
           scenario("pending", "so many timers are pending while one client arms and cancels",
                    {1'000, 10'000, 100'000}, "arm", "cancel",
                    [](DurableLoad load, std::uint64_t size, const DurableContender& contender) {
                      load.pending = size;
                      return measure_pending(load, contender, interrupted());
                    })},
      .rounds = 3,
      .seconds = 1};
}

}  // namespace timerbench
