// The suite `accuracy`: how late the timers of services fire, at which load, and why. Sizes are
// timers per second, or at one instant.
//
// Every cell replays a trace at its own pace. The control measures how late the machine itself is.
// One thread sleeps until each instant at which a timer of the same trace fires. Meanwhile the same
// generator arms the timers at a service that only fires them at once, in the generator's thread.
// So the control's processor time is that of the harness and of a sleeping thread. If the control
// does not keep up, the machine cannot make the load.
#include <fmt/core.h>

#include <future>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "realtime/make_service.h"
#include "realtime/paced.h"
#include "realtime/sleep_control.h"
#include "services/redis_poller.h"
#include "suites/realtime_suite.h"
#include "system/stop.h"
#include "workloads/arrivals.h"
#include "workloads/herd.h"

namespace timerbench {
namespace {

// The figures that services and the control share. `lateness`: of timers due in the window.
RealtimeFigures figures_under_load(const PacedFigures& measured, std::string_view ranking,
                                   const Durations& lateness) {
  // The trace fixes the calls. A cost per fire would mislead when hardly any timer fires.
  const auto operations = static_cast<double>(measured.generator.count() + lateness.count());
  if (measured.interrupted && operations == 0) throw_if_interrupted();
  return {.failure = measured.failure,
          .seconds = measured.seconds,
          .saturated = measured.saturated(),
          .interrupted = measured.interrupted,
          .label = fmt::format("{}, per fire", ranking),
          .summary = fmt::format("{}  {:.0f} of {:.0f} timers/s{}", describe_lateness(lateness),
                                 measured.achieved, measured.offered,
                                 measured.saturated() ? ", saturated" : ""),
          .counters = {{"offered_per_second", measured.offered},
                       {"achieved_per_second", measured.achieved},
                       {"saturated", measured.saturated()},
                       {"cpu_share", measured.cpu_seconds / measured.elapsed},
                       {"cpu_ns_per_operation",
                        operations > 0 ? measured.cpu_seconds * 1e9 / operations : 0}},
          .distributions = {{"lateness", lateness}, {"generator", measured.generator}}};
}

RealtimeFigures pace(const PacedPlan& plan, const PacedOptions& options,
                     const ServiceBackend& service) {
  const PacedFigures measured = run_paced(options, plan, service, interrupted());
  RealtimeFigures figures =
      figures_under_load(measured, ranking(service.traits), measured.lateness);
  figures.counters.insert(figures.counters.end(),
                          {{"early", static_cast<double>(measured.early)},
                           {"wakeups_per_second", measured.wakeups_per_second},
                           {"first_lateness_ns", measured.first_lateness},
                           {"last_lateness_ns", measured.last_lateness}});
  if (measured.arming > 0) {
    figures.counters.emplace_back("arming_ns", measured.arming);
    figures.summary += fmt::format(", each armed in {:.0f} ns", measured.arming);
  }
  if (service.traits.own_clock) return figures;  // its waits are not recorded
  figures.distributions.insert(figures.distributions.end(), {{"rounding", measured.rounding},
                                                             {"wakeup", measured.wakeup},
                                                             {"processing", measured.processing}});
  return figures;
}

RealtimeFigures control(const PacedPlan& plan, Waiting waiting) {
  auto load = std::async(std::launch::async,
                         [&] { return run_paced({}, plan, idle_service(), interrupted()); });
  const Durations lateness = measure_sleep_lateness(waiting, plan.fires(), interrupted());
  return figures_under_load(load.get(), to_string(Precision::none), lateness);
}

// Keeps the last plan: at one rate the control and all services share it.
const PacedPlan& arrivals(std::uint64_t rate, const RealtimeOptions& options) {
  using Key = std::tuple<std::uint64_t, double, std::uint64_t>;
  static std::optional<std::pair<Key, PacedPlan>> last;
  const Key key(rate, options.seconds, options.seed);
  if (!last || last->first != key) {
    last.emplace(key, Arrivals().generate({.size = static_cast<TimerId>(rate),
                                           .items = static_cast<std::uint64_t>(
                                               static_cast<double>(rate) * options.seconds),
                                           .seed = options.seed}));
  }
  return last->second;
}

// Timers at these rates, measured with these options.
Scenario at_rates(std::string name, std::string summary, std::vector<std::uint64_t> rates,
                  const PacedOptions& paced, std::vector<std::string_view> services = {}) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .sizes = std::move(rates),
          .contenders = std::move(services),
          .measure = [paced](const auto& service, std::uint64_t rate, const auto& options) {
            return pace(arrivals(rate, options), paced, service);
          }};
}

Scenario with_control(Scenario scenario, Waiting waiting) {
  scenario.control = [waiting](std::uint64_t rate, const RealtimeOptions& options) {
    return control(arrivals(rate, options), waiting);
  };
  return scenario;
}

// A delay queue in Redis that is polled at a fixed interval, whatever it holds.
template <std::size_t kMilliseconds>
Scenario polled_redis() {
  Scenario scenario = at_rates(fmt::format("poll_{}ms", kMilliseconds),
                               "as rate, with pollers that look once an interval", {1'000}, {},
                               {RedisPoller::traits.name});
  scenario.measure = [](const auto&, std::uint64_t rate, const auto& options) {
    static const auto polled = make_service_backend<RedisPollerEvery<kMilliseconds>>();
    return pace(arrivals(rate, options), {}, polled);
  };
  return scenario;
}

Scenario herd() {
  return {.name = "herd",
          .summary = "as many timers for one instant",
          .sizes = {100'000},
          .measure = [](const auto& service, std::uint64_t size, const auto& options) {
            const PacedPlan plan(
                Herd().generate({.size = static_cast<TimerId>(size), .seed = options.seed}));
            return pace(plan, {}, service);
          }};
}

Scenario idle() {
  return {.name = "idle",
          .summary = "one timer, an hour away: how often the service wakes up for nothing",
          .sizes = {1},
          .measure = [](const auto& service, std::uint64_t, const auto& options) {
            const double wakeups = idle_wakeups_per_second(
                service, Waiting::condition, kMillisecond, options.seconds, interrupted());
            throw_if_interrupted();
            return RealtimeFigures{.seconds = options.seconds,
                                   .label = fmt::format("{}, per second", ranking(service.traits)),
                                   .summary = fmt::format("{:.1f} wakeups/s", wakeups),
                                   .counters = {{"wakeups_per_second", wakeups}}};
          }};
}

Scenario paced_trace(std::string name, const Trace& trace) {
  return {.name = std::move(name),
          .summary = "a recording",
          .sizes = {trace.info().peak_pending},
          .measure = [trace](const auto& service, std::uint64_t, const auto& options) {
            return pace(PacedPlan(trace, options.seconds), {}, service);
          }};
}

}  // namespace

RealtimeSuite accuracy_suite() {
  const std::vector<std::uint64_t> rates = {100, 1'000, 10'000, 100'000, 1'000'000};
  std::vector<Scenario> scenarios;
  scenarios.push_back(
      with_control(at_rates("rate", "timers at a rate, whose handlers do nothing", rates, {}),
                   Waiting::condition));
  for (const Waiting waiting : kWaitings) {
    scenarios.push_back(
        with_control(at_rates(fmt::format("wait_{}", name(waiting)), "as rate, waiting in this way",
                              {1'000}, {.waiting = waiting},
                              {"locked_binary_heap", "locked_kafka_wheel_256",
                               "locked_log_wheel_256", "sharded_4_locked_log_wheel_256"}),
                     waiting));
  }
  for (const Tick granules : {10, 100}) {
    scenarios.push_back(at_rates(fmt::format("granularity_{}ms", granules),
                                 "as rate, with granules of this length", {1'000},
                                 {.granularity = granules * kMillisecond},
                                 {"ticking_scan", "locked_kafka_wheel_256", "locked_log_wheel_256",
                                  "sharded_4_locked_log_wheel_256", "ring_timer", "system_timer"}));
  }
  for (const auto& [name, cost, rates] :
       {std::tuple("0us", 0, std::vector<std::uint64_t>{10'000}),
        std::tuple("10us", 10'000, std::vector<std::uint64_t>{10'000, 50'000}),
        std::tuple("1ms", 1'000'000, std::vector<std::uint64_t>{500, 1'500})}) {
    const Tick task_cost = static_cast<Tick>(cost);
    scenarios.push_back(at_rates(fmt::format("task_{}", name),
                                 "as rate, with handlers that take so long", rates,
                                 {.task_cost = task_cost}));
    scenarios.push_back(at_rates(fmt::format("task_{}_executor_2", name),
                                 "the same, with two threads to run them", rates,
                                 {.threads = 2, .task_cost = task_cost}));
  }
  scenarios.push_back(polled_redis<1>());
  scenarios.push_back(polled_redis<10>());
  scenarios.push_back(polled_redis<100>());
  scenarios.push_back(herd());
  scenarios.push_back(idle());
  return {.name = "accuracy",
          .summary = "how late timers fire, and how much of it is rounding, wakeup and waiting",
          .size_is = "timers per second, or at one instant",
          .largest_size = 10'000'000,
          .scenarios = std::move(scenarios),
          .rounds = 3,
          .seconds = 2,
          .trace_scenario = paced_trace,
          .traces = {"nginx_keepalive_c256"}};
}

}  // namespace timerbench
