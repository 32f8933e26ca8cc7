// The paced loop: real services on the wall clock, and broken ones that it must find out.
#include "realtime/paced.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "counted_callers.h"
#include "queues/dary_heap.h"
#include "services/locked.h"
#include "workloads/arrivals.h"
#include "workloads/herd.h"

namespace timerbench {
using namespace std::chrono_literals;

namespace {

const StopFlag kGoOn = false;

// A tick is 1 ms.
Trace make_trace(TimerId capacity, std::vector<Op> ops, std::uint64_t setup_ops = 0) {
  return Trace({.capacity = capacity, .setup_ops = setup_ops, .workload = "made"}, std::move(ops));
}

const ServiceBackend& find(std::string_view name) {
  return *std::ranges::find(services(), name,
                            [](const ServiceBackend& backend) { return backend.traits.name; });
}

void expect_sound(const PacedFigures& figures) {
  const Accounts& accounts = figures.accounts;
  EXPECT_EQ(figures.failure, "");
  EXPECT_EQ(accounts.armed,
            accounts.fired + accounts.moved + accounts.cancelled + accounts.pending);
  EXPECT_EQ(figures.early, 0U);
  EXPECT_FALSE(figures.interrupted);
  EXPECT_LE(figures.lateness.count(), accounts.fired);
  EXPECT_NEAR(figures.rounding.mean() + figures.wakeup.mean() + figures.processing.mean(),
              figures.lateness.mean(), 1);
}

TEST(PacedPlanTest, KnowsWhatIsPendingAfterTheSetupAndWhenWhatFires) {
  const PacedPlan plan(make_trace(
      4,
      {schedule_op(0, 5), schedule_op(1, 30), advance_op(10), schedule_op(2, 15), cancel_op(1),
       schedule_op(1, 8), schedule_op(3, 1), cancel_op(3),  // setup
       advance_op(3), schedule_op(0, 4), schedule_op(2, 20), advance_op(5), schedule_op(3, 0),
       schedule_op(3, 1), advance_op(2), schedule_op(0, 100), advance_op(1)},
      8));
  std::vector<PendingTimer> before(plan.before().begin(), plan.before().end());
  EXPECT_EQ(before, (std::vector<PendingTimer>{{1, 8 * kMillisecond}, {2, 15 * kMillisecond}}));
  EXPECT_EQ(plan.end(), 11 * kMillisecond);
  EXPECT_EQ(plan.schedules(), 5U);
  EXPECT_EQ(std::vector<Tick>(plan.fires().begin(), plan.fires().end()),
            (std::vector<Tick>{7 * kMillisecond, 8 * kMillisecond, 9 * kMillisecond}));
}

TEST(PacedPlanTest, EndsAfterTheSecondsWhereverTheTraceIs) {
  const Trace trace = make_trace(2, {schedule_op(0, 30), advance_op(5), schedule_op(1, 15),
                                     advance_op(40), schedule_op(0, 1), advance_op(100)});
  const auto end = [&](double seconds) { return PacedPlan(trace, seconds).end() / kMillisecond; };
  EXPECT_EQ(end(0), 145U);
  EXPECT_EQ(end(9), 145U);
  EXPECT_EQ(end(0.145), 145U);
  EXPECT_EQ(end(0.1), 100U);
  EXPECT_EQ(PacedPlan(trace, 0.045).schedules(), 3U);
  EXPECT_EQ(PacedPlan(trace, 0.025).end(), 25 * kMillisecond);
  EXPECT_EQ(PacedPlan(trace, 0.025).schedules(), 2U);
  EXPECT_EQ(PacedPlan(trace, 0.025).fires().size(), 1U) << "within the advance that is cut";
}

TEST(PacedPlanTest, RefusesATraceInWhichNoTimePasses) {
  EXPECT_THROW(PacedPlan(make_trace(1, {advance_op(5), schedule_op(0, 1)}, 1)), TraceError);
  EXPECT_THROW(PacedPlan(make_trace(1, {schedule_op(0, 1), advance_op(5)}), 0.001 / 2), TraceError);
}

class PacedTest : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Services, PacedTest,
                         testing::Values("locked_kafka_wheel_256", "locked_binary_heap",
                                         "ticking_scan"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(PacedTest, ArrivalsAreAllAccountedFor) {
  const PacedPlan plan(Arrivals().generate({.size = 2'000, .items = 1'600}), 0.75);
  const PacedFigures figures = run_paced({}, plan, find(GetParam()), kGoOn);
  expect_sound(figures);
  EXPECT_EQ(figures.accounts.armed, plan.before().size() + plan.schedules());
  EXPECT_EQ(figures.accounts.moved + figures.accounts.cancelled, 0U);
  EXPECT_GE(figures.accounts.fired, plan.fires().size());
  EXPECT_EQ(figures.lateness.count(), plan.fires().size());
  EXPECT_NEAR(figures.seconds, 0.75, 1e-3);
  EXPECT_NEAR(figures.offered, 2'000, 200);
  EXPECT_GT(figures.achieved, 0.9 * figures.offered) << "nothing keeps it from keeping up";
  EXPECT_LE(figures.achieved, figures.offered);
  EXPECT_EQ(figures.generator.count(), plan.schedules());
  const double late = 1e-9 * figures.generator.max();  // as the begin, on a busy machine
  EXPECT_GE(figures.elapsed + late, 0.99 * figures.seconds);
  EXPECT_GT(figures.cpu_seconds, 0);
  EXPECT_LE(figures.cpu_seconds, figures.elapsed * std::thread::hardware_concurrency() * 1.05);
  EXPECT_GT(figures.wakeups_per_second, 0);
  EXPECT_GE(figures.lateness.max(), figures.first_lateness);
}

TEST_P(PacedTest, ATimerThatIsArmedAgainWhenItIsDueFiresEachTime) {
  std::vector<Op> ops;
  for (int i = 0; i < 40; ++i) {
    ops.push_back(schedule_op(0, 5));
    ops.push_back(advance_op(5));
  }
  const PacedFigures figures =
      run_paced({}, PacedPlan(make_trace(1, ops)), find(GetParam()), kGoOn);
  expect_sound(figures);
  EXPECT_EQ(figures.accounts.fired, 40U);
}

TEST_P(PacedTest, MovesAndCancelsAreTold) {
  const PacedPlan plan(make_trace(
      3, {schedule_op(0, 900), schedule_op(1, 900), schedule_op(2, 900), advance_op(10),
          schedule_op(0, 2000), cancel_op(1), advance_op(20), cancel_op(1), schedule_op(0, 30),
          schedule_op(1, 5000), advance_op(1000), cancel_op(2), cancel_op(0)}));
  const PacedFigures figures = run_paced({}, plan, find(GetParam()), kGoOn);
  expect_sound(figures);
  EXPECT_EQ(figures.accounts.armed, 6U);
  EXPECT_EQ(figures.accounts.moved, 2U);
  EXPECT_EQ(figures.accounts.cancelled, 1U);
  EXPECT_EQ(figures.accounts.pending, 1U);
  EXPECT_EQ(figures.accounts.fired, 2U);
  EXPECT_EQ(figures.lateness.count(), 2U);
  EXPECT_NEAR(figures.offered, 6 / 1.03, 0.01);
  EXPECT_EQ(figures.offered, figures.achieved);
}

TEST_P(PacedTest, AHerdHasAFirstAndALast) {
  const PacedPlan plan(Herd{.delay = 100ms, .quiet = 100ms}.generate({.size = 5'000}));
  const PacedFigures figures = run_paced({}, plan, find(GetParam()), kGoOn);
  expect_sound(figures);
  EXPECT_EQ(figures.lateness.count(), 5'000U);
  EXPECT_LT(figures.first_lateness, figures.last_lateness);
  EXPECT_EQ(figures.last_lateness, figures.lateness.max());
  EXPECT_EQ(figures.offered, 0) << "armed before";
}

TEST(PacedTest, TheGeneratorRunsWhereTheServiceWants) {
  const ServiceBackend wanting = with_counted_callers(find("locked_binary_heap"));
  expect_sound(
      run_paced({}, PacedPlan(make_trace(1, {schedule_op(0, 5), advance_op(10)})), wanting, kGoOn));
  EXPECT_EQ(counted_callers, 1);
}

TEST(PacedTest, AKernelTraceIsPacedForAsLongAsIsWanted) {
  const std::filesystem::path tests = std::filesystem::path(__FILE__).parent_path();
  const Trace trace = Trace::load(tests.parent_path() / "bench/traces/nginx_conn_per_request");
  const PacedPlan plan(trace, 0.3);
  EXPECT_EQ(plan.end(), 300 * kMillisecond);
  const PacedFigures figures = run_paced({}, plan, find("locked_kafka_wheel_256"), kGoOn);
  expect_sound(figures);
  EXPECT_NEAR(figures.seconds, 0.3, 1e-9);
  EXPECT_LE(figures.accounts.armed, plan.schedules());
  EXPECT_GT(figures.accounts.moved + figures.accounts.cancelled, 100U);
}

TEST(PacedTest, TheGranuleIsRoundingAndTheHeapHasNone) {
  const PacedPlan plan(Arrivals().generate({.size = 1'000, .items = 400}));
  const PacedOptions options{.granularity = 20 * kMillisecond};
  const PacedFigures wheel = run_paced(options, plan, find("locked_kafka_wheel_256"), kGoOn);
  const PacedFigures tick = run_paced(options, plan, find("ticking_scan"), kGoOn);
  const PacedFigures heap = run_paced(options, plan, find("locked_binary_heap"), kGoOn);
  EXPECT_NEAR(wheel.rounding.mean(), 10 * kMillisecond, 5 * kMillisecond);
  EXPECT_NEAR(tick.rounding.mean(), 10 * kMillisecond, 5 * kMillisecond);
  EXPECT_LT(heap.rounding.quantile(0.9).value(), 1);
  EXPECT_GT(heap.wakeup.mean(), 0);
  // So it is where the driver is busy, and does not sleep until the granule ends.
  const PacedFigures busy = run_paced({.granularity = 20 * kMillisecond, .task_cost = kMillisecond},
                                      plan, find("locked_kafka_wheel_256"), kGoOn);
  EXPECT_NEAR(busy.rounding.mean(), 10 * kMillisecond, 5 * kMillisecond);
  for (const PacedFigures* figures : {&wheel, &tick, &heap, &busy}) expect_sound(*figures);
}

TEST(PacedTest, ATaskCostsTheOthersTime) {
  const PacedPlan plan(Arrivals().generate({.size = 4'000, .items = 1'200}));
  const PacedFigures figures =
      run_paced({.task_cost = kMillisecond / 2}, plan, find("locked_binary_heap"), kGoOn);
  expect_sound(figures);
  EXPECT_TRUE(figures.saturated()) << "though all have fired, after the window";
  EXPECT_LT(figures.achieved, 0.9 * figures.offered);
  EXPECT_GT(figures.processing.mean(), 0.5 * figures.lateness.mean());
}

TEST(PacedTest, LessThanNinetyNinePercentIsSaturated) {
  EXPECT_FALSE((PacedFigures{.offered = 1000, .achieved = 991}).saturated());
  EXPECT_TRUE((PacedFigures{.offered = 1000, .achieved = 989}).saturated());
}

TEST(PacedTest, AnInterruptKeepsTheFiguresSoFar) {
  const PacedPlan plan(Arrivals().generate({.size = 1'000, .items = 60'000}));
  constexpr int kFires = 500;
  StopFlag stop = false;
  std::atomic<int> fired = 0;
  using SteadyTime = std::chrono::steady_clock;
  SteadyTime::time_point told;
  ServiceBackend interrupts = find("locked_binary_heap");
  interrupts.make = [&, make = interrupts.make](ServiceConfig config) {
    config.handler = [&, handler = config.handler](TimerId id, Tick deadline) {
      handler(id, deadline);
      if (++fired != kFires) return;
      told = SteadyTime::now();
      stop = true;
    };
    return make(config);
  };
  const auto before = SteadyTime::now();
  const PacedFigures figures = run_paced({}, plan, interrupts, stop);
  EXPECT_LT(SteadyTime::now() - told, std::chrono::seconds(1));
  EXPECT_TRUE(figures.interrupted);
  EXPECT_EQ(figures.failure, "");
  EXPECT_GE(figures.lateness.count(), kFires);
  EXPECT_LT(figures.seconds, std::chrono::duration<double>(told - before).count() + 1);
  EXPECT_NEAR(figures.offered, 1'000, 250);
}

TEST(PacedTest, AnInterruptBeforeTheStartIsNoFailure) {
  const StopFlag stop = true;
  const PacedPlan plan(Arrivals().generate({.size = 1'000, .items = 1'000}));
  const PacedFigures figures = run_paced({}, plan, find("locked_binary_heap"), stop);
  EXPECT_TRUE(figures.interrupted);
  EXPECT_EQ(figures.failure, "");
  EXPECT_EQ(figures.seconds, 0);
  EXPECT_EQ(figures.lateness.count(), 0U);
}

enum class Fault {
  none,
  early,
  late,
  fires_twice,
  loses,
  cancels_in_vain,
  keeps_what_is_pending,
  hands_back_what_fired,
  slow_to_arm,
  never_fires,
};

// A sound service that is made to break a rule.
class Faulty final : public AnyService {
 public:
  Faulty(const ServiceConfig& config, Fault fault)
      : fault_(fault),
        handler_(config.handler),
        shift_(fault == Fault::early  ? -kShift
               : fault == Fault::late ? kShift
                                      : 0),
        service_({.capacity = config.capacity,
                  .clock = config.clock,
                  .handler = [this](TimerId id, Tick deadline) { fire(id, deadline - shift_); }}) {}

  void schedule(TimerId id, Tick deadline) override {
    ++schedules_;
    if (fault_ == Fault::slow_to_arm && schedules_ <= 300) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (fault_ == Fault::never_fires) return;
    if (fault_ == Fault::loses && schedules_ % 50 == 0) return;
    service_.schedule(id, deadline + shift_);
  }

  bool cancel(TimerId id) override {
    return fault_ == Fault::cancels_in_vain || service_.cancel(id);
  }

  std::vector<PendingTimer> stop() override {
    std::vector<PendingTimer> pending = service_.stop();
    for (PendingTimer& timer : pending) timer.deadline -= shift_;
    if (fault_ == Fault::keeps_what_is_pending) pending.clear();
    if (fault_ == Fault::hands_back_what_fired) pending.push_back(last_);
    return pending;
  }

  std::size_t size() const override { return service_.size(); }
  std::uint64_t failures() const override { return service_.failures(); }
  std::uint64_t wakeups() const override { return service_.wakeups(); }

 private:
  void fire(TimerId id, Tick deadline) {
    last_ = {id, deadline};
    if (fault_ == Fault::fires_twice && ++fires_ % 50 == 0) handler_(id, deadline);
    handler_(id, deadline);
  }

  static constexpr std::int64_t kShift = 30 * std::int64_t{kMillisecond};

  const Fault fault_;
  const FireHandler handler_;
  const std::int64_t shift_;
  std::size_t schedules_ = 0;
  std::size_t fires_ = 0;
  PendingTimer last_{};
  Locked<BinaryHeap> service_;
};

ServiceBackend faulty(Fault fault, Precision precision = Precision::exact) {
  return {.traits = {.name = "faulty", .summary = "", .precision = precision, .paper = ""},
          .make = [fault](const ServiceConfig& config) -> std::unique_ptr<AnyService> {
            return std::make_unique<Faulty>(config, fault);
          }};
}

PacedFigures run_faulty(Fault fault, Precision precision = Precision::exact) {
  const PacedPlan plan(Arrivals().generate({.size = 2'000, .items = 800}));
  PacedFigures figures = run_paced({.grace = 0.3}, plan, faulty(fault, precision), kGoOn);
  if (fault != Fault::fires_twice) {
    EXPECT_LE(figures.lateness.count(), plan.fires().size()) << "what is due later does not count";
  }
  return figures;
}

TEST(FaultyServiceTest, IsSoundWithoutAFault) { expect_sound(run_faulty(Fault::none)); }

TEST(FaultyServiceTest, EarlyFiresAreFatalUnlessTheyAreWhatItPromises) {
  const PacedFigures figures = run_faulty(Fault::early);
  EXPECT_GT(figures.early, 0U);
  EXPECT_NE(figures.failure.find("timers fired early, the first by "), std::string::npos)
      << figures.failure;
  const PacedFigures promised = run_faulty(Fault::early, Precision::early);
  EXPECT_EQ(promised.failure, "");
  EXPECT_GT(promised.early, 0U);
}

TEST(FaultyServiceTest, LateFiresAreNotWrongButLate) {
  const PacedFigures figures = run_faulty(Fault::late);
  expect_sound(figures);
  EXPECT_GT(figures.lateness.quantile(0.1).value_or(0), 29 * kMillisecond);
  EXPECT_GT(figures.rounding.mean(), kMillisecond) << "it sleeps because it wants to";
}

TEST(FaultyServiceTest, EveryBreachOfExactlyOnceIsFound) {
  const std::pair<Fault, const char*> breaches[] = {
      {Fault::fires_twice, "fired twice"},
      {Fault::loses, "lost"},
      {Fault::keeps_what_is_pending, "lost"},
      {Fault::never_fires, "lost"},
  };
  for (const auto& [fault, what] : breaches) {
    const PacedFigures figures = run_faulty(fault);
    EXPECT_NE(figures.failure.find(what), std::string::npos) << what << ": " << figures.failure;
    EXPECT_TRUE(figures.failure.starts_with("wrong: ")) << figures.failure;
  }
}

TEST(FaultyServiceTest, ACancelInVainAndWhatIsHandedBackTwiceAreFound) {
  const PacedPlan plan(make_trace(
      2, {schedule_op(0, 100), schedule_op(1, 100), advance_op(5), cancel_op(0), advance_op(150)}));
  const PacedOptions options{.grace = 0.3};
  EXPECT_EQ(run_paced(options, plan, faulty(Fault::none), kGoOn).failure, "");
  for (const Fault fault : {Fault::cancels_in_vain, Fault::hands_back_what_fired}) {
    const PacedFigures figures = run_paced(options, plan, faulty(fault), kGoOn);
    EXPECT_NE(figures.failure.find("or though cancelled or handed back"), std::string::npos)
        << figures.failure;
  }
}

TEST(FaultyServiceTest, ArmingBeforeTheStartIsRepeatedUntilThereIsTimeForIt) {
  const Trace herd = Herd{.delay = 50ms, .quiet = 50ms}.generate({.size = 300});
  Tick latest = kNever;
  for (int i = 0; i < 5 && latest >= 100 * kMillisecond; ++i) {  // the machine may be busy
    const PacedFigures figures = run_paced({}, PacedPlan(herd), faulty(Fault::slow_to_arm), kGoOn);
    expect_sound(figures);
    EXPECT_EQ(figures.lateness.count(), 300U);
    latest = std::min(latest, static_cast<Tick>(figures.lateness.max()));
  }
  EXPECT_LT(latest, 100 * kMillisecond);
}

TEST(FaultyServiceTest, WhatCouldNotBeArmedInTimeWasOfferedAllTheSame) {
  std::vector<Op> ops;
  for (TimerId id = 0; id < 200; ++id) {
    ops.push_back(schedule_op(id, 1'000));
    if (id % 2 == 1) ops.push_back(advance_op(1));
  }
  const PacedPlan plan(make_trace(200, ops));
  const PacedFigures figures = run_paced({.grace = 0}, plan, faulty(Fault::slow_to_arm), kGoOn);
  expect_sound(figures);
  EXPECT_LE(figures.accounts.armed, 101U);
  EXPECT_NEAR(figures.offered, 2'000, 1e-6);
  EXPECT_TRUE(figures.saturated());
}

}  // namespace
}  // namespace timerbench
