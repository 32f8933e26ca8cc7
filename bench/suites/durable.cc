// The suite `durable`: what timers cost that outlive the process, and how late they are. What a size
// counts is told by each scenario.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "durable/durable_load.h"
#include "durable/plan.h"
#include "services/timer_service.h"
#include "suites/cell_failure.h"
#include "suites/realtime_suite.h"
#include "system/stop.h"
#include "workloads/jobs.h"
#include "workloads/orders.h"

namespace timerbench {
namespace {

constexpr std::string_view kCluster = "redis_cluster", kClusterThatWaits = "redis_cluster_wait";

using Measure = std::function<DurableFigures(const DurableLoad&, const DurableContender&)>;

std::string in_us(const Durations& durations, double q) {
  const auto ns = durations.quantile(q);
  return ns ? fmt::format("{:.1f} us", *ns / 1e3) : "-";
}

RealtimeFigures figures_of(const DurableFigures& measured, std::string_view ranking) {
  const double timers = static_cast<double>(std::max<std::uint64_t>(measured.timers, 1));
  const double rate = timers / measured.seconds;
  RealtimeFigures figures{
      .failure = measured.failure,
      .seconds = measured.seconds,
      .saturated = measured.saturated,
      .label = fmt::format("{}, per timer", ranking),
      .summary = measured.offered_per_second > 0
                     ? fmt::format("{:>9.0f} of {:.0f} timers/s", measured.achieved_per_second,
                                   measured.offered_per_second)
                     : fmt::format("{:>9.0f} timers/s", rate),
      .counters = {{"client_cpu_ns_per_timer", measured.client_cpu_seconds * 1e9 / timers}}};
  const auto add = [&](const char* name, double value) {
    if (value > 0) figures.counters.emplace_back(name, value);
  };
  if (measured.server_cpu_seconds) {
    add("server_cpu_ns_per_timer", *measured.server_cpu_seconds * 1e9 / timers);
  }
  if (measured.syncs) {
    figures.counters.emplace_back("fsyncs_per_timer",
                                  static_cast<double>(*measured.syncs) / timers);
  }
  if (measured.network_bytes) {
    add("network_bytes_per_timer", static_cast<double>(*measured.network_bytes) / timers);
  }
  add("bytes_in_memory", measured.bytes_in_memory);
  add("bytes_on_disk", measured.bytes_on_disk);
  if (measured.restart) {
    add("first_fire_seconds", measured.restart->first_seconds);
    add("restart_seconds", measured.restart->last_seconds);
  }
  if (measured.offered_per_second > 0) {  // the load sets the rate
    figures.counters.insert(figures.counters.end(),
                            {{"offered_per_second", measured.offered_per_second},
                             {"achieved_per_second", measured.achieved_per_second}});
  } else {
    add("timers_per_second", rate);
    add("schedules_per_second", measured.schedules_per_second);
    add("cancels_per_second", measured.cancels_per_second);
    add("fires_per_second", measured.fires_per_second);
  }
  const auto distribution = [&](std::string_view name, const Durations& durations) {
    if (durations.count() == 0) return;
    figures.summary += fmt::format("  {} {}", name, in_us(durations, 0.5));
    figures.distributions.emplace_back(std::string(name), durations);
  };
  distribution("arm", measured.arm);
  distribution("cancel", measured.cancel);
  distribution("claim", measured.claim);
  distribution("complete", measured.complete);
  if (measured.fires_per_second > 0) {
    figures.summary += fmt::format("  then {:.0f} fires/s", measured.fires_per_second);
  }
  distribution("lateness", measured.lateness);
  distribution("generator", measured.generator);
  return figures;
}

// Of a load that only waits: what that costs in an hour.
RealtimeFigures figures_of_waiting(const DurableFigures& measured, std::size_t workers,
                                   std::string_view ranking) {
  const double hours = measured.seconds / 3600;
  const double client_cpu = measured.client_cpu_seconds;
  const double server_cpu = measured.server_living_cpu_seconds.value_or(0);
  RealtimeFigures figures{
      .failure = measured.failure,
      .seconds = measured.seconds,
      .label = fmt::format("{}, per hour", ranking),
      .counters = {{"cpu_ns_per_hour", (client_cpu + server_cpu) * 1e9 / hours},
                   {"client_cpu_ns_per_hour", client_cpu * 1e9 / hours},
                   {"worker_wakeups_per_hour", static_cast<double>(measured.client_wakeups) /
                                                   static_cast<double>(workers) / hours}}};
  const auto add = [&](const char* name, const std::optional<std::uint64_t>& count) {
    if (count) figures.counters.emplace_back(name, static_cast<double>(*count) / hours);
  };
  if (measured.server_living_cpu_seconds) {
    figures.counters.emplace_back("server_cpu_ns_per_hour", server_cpu * 1e9 / hours);
  }
  add("server_wakeups_per_hour", measured.server_wakeups);
  add("fsyncs_per_hour", measured.syncs);
  add("network_bytes_per_hour", measured.network_bytes);
  figures.summary = "in an hour:";
  for (const auto& [name, value] : figures.counters) {
    figures.summary += fmt::format("  {:.3g} {}", value, name.substr(0, name.rfind("_per_hour")));
  }
  if (!measured.network_bytes) figures.summary += "  no connection";
  return figures;
}

// `change` sets what the size counts in the load.
DurableLoadScenario scenario(std::string name, std::string summary,
                             std::vector<std::uint64_t> sizes,
                             std::function<void(DurableLoad&, std::uint64_t size)> change,
                             Measure measure) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .sizes = std::move(sizes),
          .measure = [=](const DurableContender& contender, std::uint64_t size,
                         const RealtimeOptions& options) {
            DurableLoad load{.seconds = options.seconds};
            change(load, size);
            return figures_of(measure(load, contender), ranking(contender.traits));
          }};
}

constexpr std::uint64_t kDue = 20'000;

DurableFigures fire(const DurableLoad& load, const DurableContender& contender) {
  // One by one they take long, with an engine that synchronises at each call.
  return measure_fire(load, load.batch < kFiredAtOnce ? kDue / 10 : kDue, contender, interrupted());
}

DurableLoadScenario shards_of_a_cluster() {
  DurableLoadScenario shards = scenario(
      "shards",
      "20 000 timers are due in so many shards; four workers claim and complete 100 a time",
      {1, 4, 16, 64},
      [](DurableLoad& load, std::uint64_t size) {
        load.clients = 4;
        load.batch = kFiredAtOnce;
        load.shards = size;
      },
      fire);
  shards.contenders = {kCluster, kClusterThatWaits};
  return shards;
}

// The contender with so many masters. Throws CellFailure if the cluster is the user's.
DurableContender with_masters(const DurableContender& contender, std::size_t masters) {
  if (contender.is_of_user()) throw CellFailure("skipped: the nodes are the user's");
  return contender.with_masters(masters);
}

DurableLoadScenario nodes_of_a_cluster() {
  return {.name = "nodes",
          .summary =
              "each of 16 clients arms a timer and cancels it, again and again, on so many "
              "masters with a replica each",
          .sizes = {1, 2, 3},
          .contenders = {kCluster, kClusterThatWaits},
          .measure = [](const DurableContender& contender, std::uint64_t size,
                        const RealtimeOptions& options) {
            const DurableLoad load{.clients = 16, .seconds = options.seconds};
            return figures_of(measure_churn(load, with_masters(contender, size), interrupted()),
                              ranking(contender.traits));
          }};
}

DurableFigures churn(const DurableLoad& load, const DurableContender& contender) {
  return measure_churn(load, contender, interrupted());
}

DurableLoadScenario waiting_workers() {
  return {.name = "idle",
          .summary = "so many timers are pending for an hour, and four workers wait for them",
          .sizes = {1'000, 100'000},
          .measure = [](const DurableContender& contender, std::uint64_t size,
                        const RealtimeOptions& options) {
            const DurableLoad load{
                .clients = 4, .batch = 100, .pending = size, .seconds = 5 * options.seconds};
            return figures_of_waiting(measure_idle(load, contender, interrupted()), load.clients,
                                      ranking(contender.traits));
          }};
}

using MakePlan = std::function<DurablePlan(std::uint64_t size, const RealtimeOptions&)>;

// Timers at the instants of a plan, and the control.
DurableLoadScenario planned(std::string name, std::string summary, std::vector<std::uint64_t> sizes,
                            const DurableLoad& load, const MakePlan& make_plan) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .sizes = std::move(sizes),
          .measure =
              [=](const DurableContender& contender, std::uint64_t size, const auto& options) {
                return figures_of(
                    measure_timed(load, make_plan(size, options), contender, interrupted()),
                    ranking(contender.traits));
              },
          .control =
              [=](std::uint64_t size, const auto& options) {
                return figures_of(
                    measure_timed_control(load, make_plan(size, options), interrupted()),
                    to_string(Precision::none));
              }};
}

// A workload that runs so many times faster, for six times the seconds of the other scenarios: few
// of its timers fire.
template <class Workload>
DurableLoadScenario traced(std::string summary, std::vector<std::uint64_t> sizes, double faster) {
  return planned(std::string(Workload::name), std::move(summary), std::move(sizes),
                 {.clients = 2, .producers = 4, .batch = 100},
                 [faster](std::uint64_t size, const RealtimeOptions& options) {
                   const double seconds = 6 * options.seconds;
                   // In the mean, each is pending for a second at least.
                   const auto items = static_cast<double>(size) * (1 + seconds);
                   return plan_of_trace(
                       Workload().generate({.size = static_cast<TimerId>(size),
                                            .items = static_cast<std::uint64_t>(items),
                                            .seed = options.seed}),
                       faster, seconds);
                 });
}

}  // namespace

DurableSuite durable_suite() {
  const auto set = [](auto member) {
    return [member](DurableLoad& load, std::uint64_t size) { load.*member = size; };
  };
  return {
      .name = "durable",
      .summary = "timers that outlive the process: what they cost, and how late they fire",
      .size_is = "clients, timers a call, bytes, shards, masters, timers per second or timers",
      .largest_size = 10'000'000,
      .scenarios =
          {scenario("clients",
                    "each of so many clients arms a timer and cancels it, again and again",
                    {1, 4, 16, 64}, set(&DurableLoad::clients), churn),
           scenario("batch", "one client arms so many timers with a call, and cancels each",
                    {1, 10, 100, 1000}, set(&DurableLoad::batch), churn),
           scenario(
               "payload",
               "one client arms and cancels timers with so many bytes; then 20 000 are due, "
               "and one worker claims and completes 100 a time",
               {16, 256, 4096},
               [](DurableLoad& load, std::uint64_t size) {
                 load.payload = size;
                 load.fires = kDue;
               },
               churn),
           scenario(
               "workers", "20 000 timers are due; so many workers claim and complete 100 a time",
               {1, 4, 16},
               [](DurableLoad& load, std::uint64_t size) {
                 load.clients = size;
                 load.batch = kFiredAtOnce;
               },
               fire),
           scenario(
               "claims",
               "timers are due, 2000 of them or 20 000; four workers claim and complete so many a "
               "time",
               {1, 10, 100, 1000},
               [](DurableLoad& load, std::uint64_t size) {
                 load.clients = 4;
                 load.batch = size;
               },
               fire),
           shards_of_a_cluster(), nodes_of_a_cluster(),
           planned("rate",
                   "so many timers a second are armed, half a second to 1.5 s before they are due",
                   {100, 1'000, 10'000}, {.batch = 100},
                   [](std::uint64_t size, const RealtimeOptions& options) {
                     // Timers enough for a p99.9, unless that takes too long.
                     const double seconds = 11'000 / static_cast<double>(size);
                     return plan_at_rate(
                         static_cast<double>(size),
                         options.seconds * (seconds <= 11 ? std::max(seconds, 3.0) : 3),
                         options.seed);
                   }),
           traced<Orders>("so many unpaid orders, 60 times as fast: a minute in a second",
                          {1'000, 10'000}, 60),
           traced<Jobs>("so many jobs, 86 400 times as fast: a day in a second", {1'000, 10'000},
                        86'400),
           waiting_workers(),
           scenario(
               "pending",
               "so many timers are pending while one client arms and cancels; then 20 000 more "
               "are due, and one worker claims and completes 100 a time",
               {1'000, 10'000, 100'000, 1'000'000},
               [](DurableLoad& load, std::uint64_t size) {
                 load.pending = size;
                 load.fires = kDue;
               },
               [](const DurableLoad& load, const DurableContender& contender) {
                 return measure_pending(load, contender, interrupted());
               })},
      .rounds = 3,
      .seconds = 1};
}

}  // namespace timerbench
