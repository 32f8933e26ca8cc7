// The loads of durable queues: their plans, what they count, and that they find what is broken.
#include "durable/durable_load.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "durable/bench.h"
#include "durable/clients.h"
#include "durable/ledger.h"
#include "durable/plan.h"
#include "durable/sync_counter.h"
#include "scratch.h"
#include "suites/realtime_suite.h"
#include "system/cpu_time.h"
#include "system/process_tree.h"
#include "system/supervised_program.h"
#include "system/tcp_bytes.h"
#include "workloads/jobs.h"
#include "workloads/orders.h"
#include "wrapped_durable.h"

namespace timerbench {
namespace {

const StopFlag kGoOn = false;
constexpr Tick kMs = 1'000'000;

// --- Plans ---

TEST(DurablePlanTest, ARateArmsAsManyTimersAsAreDue) {
  const DurablePlan plan = plan_at_rate(10'000, 2);
  EXPECT_EQ(plan.end, 2'000 * kMs);
  EXPECT_NEAR(static_cast<double>(plan.before), 10'000, 500);  // for the mean second ahead
  EXPECT_NEAR(static_cast<double>(plan.ops.size()), 20'000, 500);
  EXPECT_NEAR(static_cast<double>(plan.fires().size()), 20'000, 500);
  EXPECT_EQ(plan.before + plan.ops.size(), plan.timers.size());
  EXPECT_TRUE(std::ranges::is_sorted(plan.ops, {}, &DurablePlan::Op::at));
  Tick least = kNever, most = 0;
  for (const DurablePlan::Op& op : plan.ops) {
    const Tick ahead = plan.timers[op.timer].deadline - op.at;
    least = std::min(least, ahead);
    most = std::max(most, ahead);
    ASSERT_GE(ahead, 500 * kMs);
    ASSERT_LT(ahead, 1'505 * kMs);  // those of 5 ms are armed at once
  }
  EXPECT_LT(least, 520 * kMs);
  EXPECT_GT(most, 1'480 * kMs);
}

TEST(DurablePlanTest, DeadlinesOfARateAreRandomAndThoseOfASeed) {
  const DurablePlan plan = plan_at_rate(1'000, 1, 7);
  std::set<Tick> phases;  // tenths of a millisecond
  for (const DurablePlan::Timer& timer : plan.timers)
    phases.insert(timer.deadline % kMs / (kMs / 10));
  EXPECT_EQ(phases.size(), 10U);
  const auto are_as_with = [&](std::uint64_t seed) {
    const auto deadline = [](const DurablePlan::Timer& timer) { return timer.deadline; };
    return std::ranges::equal(plan.timers, plan_at_rate(1'000, 1, seed).timers, {}, deadline,
                              deadline);
  };
  EXPECT_TRUE(are_as_with(7));
  EXPECT_FALSE(are_as_with(8));
}

// Ticks are 1 ms. Object 0 is armed before; 1 is cancelled, then armed again; 2 is due too late.
Trace small_trace() {
  return Trace(TraceInfo{.capacity = 3, .setup_ops = 2},
               std::vector<Op>{advance_op(10), schedule_op(0, 40), schedule_op(1, 50),
                               advance_op(20), cancel_op(1), schedule_op(2, 1'000), advance_op(10),
                               schedule_op(1, 20), advance_op(70), cancel_op(1), advance_op(100)});
}

TEST(DurablePlanTest, ATraceIsPlannedFaster) {
  const DurablePlan plan = plan_of_trace(small_trace(), 10, 0);
  EXPECT_EQ(plan.end, 20 * kMs);
  EXPECT_EQ(plan.before, 1U);
  ASSERT_EQ(plan.timers.size(), 4U);  // object 1 has two
  const auto deadline = [&](std::size_t id) { return plan.timers[id].deadline; };
  EXPECT_EQ(deadline(0), 4 * kMs);
  EXPECT_EQ(deadline(1), 5 * kMs);
  EXPECT_EQ(deadline(2), 102 * kMs);
  EXPECT_EQ(deadline(3), 5 * kMs);
  EXPECT_TRUE(plan.timers[1].is_cancelled);
  EXPECT_FALSE(plan.timers[3].is_cancelled);  // it fires before
  EXPECT_EQ(plan.fires(), (std::vector<std::uint64_t>{0, 3}));
  ASSERT_EQ(plan.ops.size(), 4U);
  EXPECT_EQ(plan.ops[1].at, 2 * kMs);
  EXPECT_TRUE(plan.ops[1].cancels);
  EXPECT_EQ(plan.ops[1].timer, 1U);
  EXPECT_EQ(plan.ops[3].timer, 3U);
}

// As the model counts them, in so many seconds of the trace.
std::uint64_t fires_by_model(const Trace& trace, double seconds) {
  Model model({.capacity = trace.info().capacity});
  Tick now = 0, start = 0;
  std::uint64_t fires = 0;
  for (std::size_t i = 0; i < trace.ops().size(); ++i) {
    const Op op = trace.ops()[i];
    if (i == trace.info().setup_ops) start = now;
    if (op.id != kAdvance) {
      op.arg == kCancel ? void(model.cancel(op.id)) : model.schedule(op.id, now + op.arg);
      continue;
    }
    const auto end = start + static_cast<Tick>(seconds * 1e9 / trace.info().unit_ns);
    const bool is_measured = i >= trace.info().setup_ops;
    now = is_measured ? std::min(now + op.arg, end) : now + op.arg;
    const std::size_t fired = model.advance(now, IgnoreExpiry{});
    if (is_measured) fires += fired;
    if (is_measured && now == end) break;
  }
  return fires;
}

TEST(DurablePlanTest, WorkloadsFireAsOftenAsByTheModel) {
  const Trace orders = Orders().generate({.size = 1'000, .items = 7'000});
  EXPECT_EQ(plan_of_trace(orders, 60, 6).fires().size(), fires_by_model(orders, 360));
  const Trace jobs = Jobs().generate({.size = 1'000, .items = 7'000});
  EXPECT_EQ(plan_of_trace(jobs, 86'400, 6).fires().size(), fires_by_model(jobs, 6 * 86'400));
}

// --- The ledger ---

TEST(DurableLedgerTest, TellsWhatContradictsItself) {
  const auto after = [](const std::function<void(DurableLedger&)>& what) {
    DurableLedger ledger(3);
    ledger.armed(1);
    what(ledger);
    return ledger.contradiction();
  };
  EXPECT_EQ(after([](DurableLedger& ledger) { ledger.completed(1); }), "");
  EXPECT_EQ(after([](DurableLedger& ledger) { ledger.cancelled(1); }), "");
  EXPECT_NE(after([](DurableLedger& ledger) { ledger.completed(2); }), "");
  EXPECT_NE(after([](DurableLedger& ledger) { ledger.completed(1), ledger.completed(1); }), "");
  EXPECT_NE(after([](DurableLedger& ledger) { ledger.completed(1), ledger.cancelled(1); }), "");
  EXPECT_EQ(after([](DurableLedger& ledger) { ledger.completed(7); }), "");  // none of its own
}

TEST(DurableLedgerTest, CountsTheFirstCompletionsOfWhatIsAwaited) {
  DurableLedger ledger(3, [](DurableId id) { return id > 0; });
  for (const DurableId id : {0, 1, 1}) ledger.completed(id);
  EXPECT_EQ(ledger.completions(), 1U);
  EXPECT_EQ(ledger.sums().completed, 2U);
}

// --- The loads ---

const DurableLoad kLoad{.clients = 2, .batch = 10, .pending = 100, .seconds = 0.1};

struct SaysThatAllWereCancelled : Wrapped {
  using Wrapped::Wrapped;
  bool cancel(DurableId) override { return true; }
};

struct ClaimsOneInTenMilliseconds : Wrapped {
  using Wrapped::Wrapped;
  Claims claim(std::size_t, Tick lease) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return queue_->claim(1, lease);
  }
};

struct ClaimsSlowly : Wrapped {
  using Wrapped::Wrapped;
  Claims claim(std::size_t most, Tick lease) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return queue_->claim(most, lease);
  }
};

struct LosesTheLastOfMany : Wrapped {
  using Wrapped::Wrapped;
  void schedule(std::span<const DurableTimer> timers) override {
    queue_->schedule(timers.size() > 1 ? timers.first(timers.size() - 1) : timers);
  }
};

struct ArmsSlowly : Wrapped {
  using Wrapped::Wrapped;
  void schedule(std::span<const DurableTimer> timers) override {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    queue_->schedule(timers);
  }
};

// Fast orders: many end in a short while.
DurablePlan orders() {
  return plan_of_trace(Orders().generate({.size = 300, .items = 2'000}), 600, 0.5);
}

// Up to three times, for a busy machine may fall behind.
DurableFigures measure_keeping_up(const DurablePlan& plan, const DurableContender& contender) {
  DurableFigures figures;
  for (int i = 0; i < 3; ++i) {
    figures = measure_timed(kLoad, plan, contender, kGoOn);
    if (!figures.saturated) break;
  }
  return figures;
}

TEST(DurableLoadTest, CountsWhatAWholeQueueDoes) {
  const DurableFigures churned = measure_churn(kLoad, contender<Wrapped>(), kGoOn);
  EXPECT_EQ(churned.failure, "");
  EXPECT_GT(churned.timers, 0U);
  EXPECT_EQ(churned.cancel.count(), churned.timers);
  const auto timers = static_cast<double>(churned.timers);
  const double in_calls =
      timers / churned.schedules_per_second + timers / churned.cancels_per_second;
  EXPECT_GT(in_calls, 0.2 * churned.seconds) << "clients do little else";
  EXPECT_LT(in_calls, 1.5 * churned.seconds);
  EXPECT_EQ(churned.fires_per_second, 0);
  DurableLoad load = kLoad;
  load.fires = 500;
  load.payload = 4096;
  const DurableFigures then_fired = measure_churn(load, contender<Wrapped>(), kGoOn);
  EXPECT_EQ(then_fired.failure, "");
  EXPECT_EQ(then_fired.cancel.count(), then_fired.timers) << "those that fired are not of them";
  EXPECT_EQ(then_fired.claim.count(), 0U);
  EXPECT_GT(then_fired.fires_per_second, 500 / 60.0);
  const DurableFigures slowly_fired = measure_churn(load, contender<ClaimsSlowly>(), kGoOn);
  EXPECT_EQ(slowly_fired.failure, "");
  EXPECT_LT(slowly_fired.fires_per_second, 500 / 0.5) << "100 at once take 100 ms";
  const DurableFigures fired = measure_fire(kLoad, 500, contender<Wrapped>(), kGoOn);
  EXPECT_EQ(fired.failure, "");
  EXPECT_EQ(fired.timers, 500U);
  EXPECT_EQ(fired.claim.count(), fired.complete.count()) << "those that found something";
  const DurablePlan plan = plan_at_rate(100, 0.5);
  const DurableFigures late = measure_keeping_up(plan, contender<Wrapped>());
  EXPECT_EQ(late.failure, "");
  EXPECT_FALSE(late.saturated);
  EXPECT_EQ(late.lateness.count(), plan.fires().size());
  EXPECT_EQ(late.generator.count(), plan.ops.size());
  EXPECT_NEAR(late.offered_per_second, 100, 30);
}

TEST(DurableLoadTest, RunsATraceWithSeveralProducers) {
  DurableLoad load = kLoad;
  load.producers = 3;
  const DurablePlan plan = orders();
  const std::uint64_t cancels = static_cast<std::uint64_t>(
      std::ranges::count_if(plan.ops, [](const DurablePlan::Op& op) { return op.cancels; }));
  ASSERT_GT(cancels, 100U);
  for (const char* name : {"journal_wheel_0", "redis_memory"}) {  // threads, and processes
    const DurableFigures figures = measure_timed(load, plan, contender<Wrapped>(name), kGoOn);
    EXPECT_EQ(figures.failure, "");
    EXPECT_GE(figures.lateness.count(), plan.fires().size());  // or more: cancelled too late
    EXPECT_EQ(figures.cancel.count(), cancels);
  }
}

TEST(DurableLoadTest, TheControlSleepsUntilEachDeadline) {
  const DurablePlan plan = orders();
  const DurableFigures control = measure_timed_control(kLoad, plan, kGoOn);
  EXPECT_EQ(control.failure, "");
  EXPECT_EQ(control.lateness.count(), plan.fires().size());
  EXPECT_GT(control.lateness.mean(), 0);
  EXPECT_EQ(control.generator.count(), plan.ops.size());
}

// How late it hands out what is due.
struct ClaimsLate : Wrapped {
  using Wrapped::Wrapped;
  static constexpr Tick kLate = 100 * kMs;
  void schedule(std::span<const DurableTimer> timers) override {
    std::vector<DurableTimer> later(timers.begin(), timers.end());
    for (DurableTimer& timer : later) timer.deadline += lateness_of(timer.id);
    queue_->schedule(later);
  }
  virtual Tick lateness_of(DurableId) const { return kLate; }
};

TEST(DurableLoadTest, LatenessCountsFromTheDeadlineToTheHandler) {
  const DurablePlan plan = plan_at_rate(100, 0.5);
  const double late = ClaimsLate::kLate;
  double control = late, median = 2 * late;
  for (int i = 0; i < 3 && (control >= late / 2 || median >= 1.5 * late); ++i) {  // it may be busy
    const DurableFigures figures = measure_timed(kLoad, plan, contender<ClaimsLate>(), kGoOn);
    EXPECT_GE(figures.lateness.quantile(0).value_or(0), 0.99 * late);
    median = figures.lateness.quantile(0.5).value_or(0);
    control = measure_timed_control(kLoad, plan, kGoOn).lateness.quantile(0.5).value_or(late);
  }
  EXPECT_LT(median, 1.5 * late);
  EXPECT_LT(control, late / 2);
}

// As an engine that counts seconds may be by chance.
struct ClaimsTheSecondHalfLate : ClaimsLate {
  using ClaimsLate::ClaimsLate;
  static inline std::set<DurableId> second_half;  // of the plan
  Tick lateness_of(DurableId id) const override { return second_half.contains(id) ? 300 * kMs : 0; }
};

TEST(DurableLoadTest, LatenessWithinTheResolutionIsNoBacklog) {
  const DurablePlan plan = plan_at_rate(200, 1);
  const std::vector<DurableId> fires = plan.fires();  // by deadline
  ClaimsTheSecondHalfLate::second_half = {fires.begin() + 100, fires.end()};
  DurableContender late = contender<ClaimsTheSecondHalfLate>();
  EXPECT_TRUE(measure_timed(kLoad, plan, late, kGoOn).saturated);
  late.traits.resolution = 1'000 * kMs;
  const DurableFigures rounded = measure_keeping_up(plan, late);
  EXPECT_FALSE(rounded.saturated);
  EXPECT_GT(rounded.lateness.quantile(0.9).value_or(0), 290.0 * kMs) << "it is late all the same";
}

void spin(std::chrono::milliseconds time) {
  const auto begin = cpu_time_of_thread();
  while (cpu_time_of_thread() - begin < time) {
  }
}

struct SpinsWhenArmingMany : Wrapped {
  using Wrapped::Wrapped;
  void schedule(std::span<const DurableTimer> timers) override {
    if (timers.size() > 50) spin(std::chrono::milliseconds(500));
    queue_->schedule(timers);
  }
};

TEST(DurableLoadTest, WhatIsArmedBeforeTheLoadIsInNoFigure) {
  const DurablePlan plan = plan_at_rate(100, 0.5);
  ASSERT_GT(plan.before, 50U);
  const DurableFigures figures =
      measure_timed(kLoad, plan, contender<SpinsWhenArmingMany>(), kGoOn);
  EXPECT_EQ(figures.failure, "");
  EXPECT_LT(figures.client_cpu_seconds, 0.5);
}

struct SpinsWhenCompleting : Wrapped {
  using Wrapped::Wrapped;
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override {
    spin(std::chrono::milliseconds(10));
    return queue_->complete(claims);
  }
};

TEST(DurableLoadTest, ClientsAreChargedWithTheirProcessorTime) {
  for (const char* name : {"journal_wheel_0", "redis_memory"}) {  // threads, and processes
    const DurableFigures figures =
        measure_fire(kLoad, 500, contender<SpinsWhenCompleting>(name), kGoOn);
    EXPECT_EQ(figures.failure, "");
    const double spun = 0.01 * static_cast<double>(figures.complete.count());
    EXPECT_GE(spun, 0.5);
    EXPECT_GE(figures.client_cpu_seconds, spun);
    EXPECT_LE(figures.client_cpu_seconds, 2 * figures.seconds + 0.1);
  }
}

struct SaysThatNoneWasHeld : Wrapped {
  using Wrapped::Wrapped;
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override {
    return std::vector<bool>(claims.size(), false);
  }
};

TEST(DurableLoadTest, OnlyWhatWasHeldHasFired) {
  const DurableFigures none = measure_fire(kLoad, 500, contender<SaysThatNoneWasHeld>(), kGoOn);
  EXPECT_EQ(none.timers, 0U);
  EXPECT_EQ(none.failure, "wrong: of 500 timers 500 were never completed");
}

TEST(DurableLoadTest, ASlowQueueIsNotCalledWrong) {
  try {
    measure_fire(kLoad, 500, contender<ClaimsOneInTenMilliseconds>(), kGoOn, /*most_seconds=*/0.3);
    FAIL() << "half of the timers are left";
  } catch (const ProgramFailure& failure) {
    EXPECT_TRUE(std::string_view(failure.what()).starts_with("timeout: of 500 due timers "));
  }
}

TEST(DurableLoadTest, TellsWhatATimerTakes) {
  DurableLoad load = kLoad;
  load.pending = 20'000;
  load.payload = 100;
  const DurableFigures figures = measure_churn(load, contender<Wrapped>(), kGoOn);
  EXPECT_GT(figures.bytes_on_disk, 100);
  EXPECT_LT(figures.bytes_on_disk, 150);
  const double of_server =
      measure_churn(load, contender<Wrapped>("redis_memory"), kGoOn).bytes_in_memory;
  EXPECT_GT(of_server, 100);
  EXPECT_LT(of_server, 600);
}

// Opening a queue may take longer than the load: some start a program for each client.
TEST(DurableLoadTest, ALoadBeginsWhenAllHaveOpenedTheQueue) {
  struct OpensSlowly : Wrapped {
    explicit OpensSlowly(std::unique_ptr<DurableQueue> queue) : Wrapped(std::move(queue)) {
      static std::atomic<int> opened = 0;
      if (++opened % 4 == 0) std::this_thread::sleep_for(std::chrono::seconds(2));
    }
  };
  const DurableFigures figures =
      measure_timed(kLoad, plan_at_rate(100, 0.5), contender<OpensSlowly>(), kGoOn);
  EXPECT_EQ(figures.failure, "");
  EXPECT_LT(figures.lateness.quantile(0.5).value_or(1e12), 0.5e9);
}

TEST(DurableLoadTest, ASlowQueueIsSaturated) {
  const DurableFigures slow =
      measure_timed(kLoad, plan_at_rate(1'000, 1), contender<ClaimsOneInTenMilliseconds>(), kGoOn);
  EXPECT_EQ(slow.failure, "");  // slow, but nothing is lost
  EXPECT_TRUE(slow.saturated);
  EXPECT_LT(slow.achieved_per_second, 0.9 * slow.offered_per_second);
}

TEST(DurableLoadTest, HasNoFiguresForABrokenQueue) {
  const auto timed = [](const DurablePlan& plan, const DurableContender& contender) {
    return measure_timed(kLoad, plan, contender, kGoOn).failure;
  };
  EXPECT_NE(measure_fire(kLoad, 500, contender<CompletesNothing>(), kGoOn).failure, "");
  DurableLoad and_fires = kLoad;
  and_fires.fires = 500;
  EXPECT_NE(measure_churn(and_fires, contender<CompletesNothing>(), kGoOn).failure, "");
  EXPECT_NE(measure_churn(kLoad, contender<LosesTheLastOfMany>(), kGoOn).failure, "");
  EXPECT_NE(timed(plan_at_rate(100, 0.5), contender<FiresEarly>()), "");
  EXPECT_NE(timed(plan_at_rate(100, 0.5), contender<CompletesNothing>()), "");
  EXPECT_NE(timed(orders(), contender<SaysThatAllWereCancelled>()), "");
}

TEST(DurableLoadTest, ClientsEndIfTheLookThrows) {
  const Scratch folder;
  for (const char* name : {"journal_wheel_0", "redis_memory"}) {  // threads, and processes
    const DurableContender& queue = durable_contender(name);
    const auto engine = queue.start(folder.path());
    for (const int which : {1, 2}) {
      Clients clients(2);
      int looks = 0;
      const auto look = [&] {
        if (++looks == which) throw BackendError("it is dark");
      };
      const auto work = [&](DurableQueue&, std::size_t, ClientReport&) {
        while (!clients.is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      };
      EXPECT_THROW(clients.run(*engine, queue.traits.shared_by, {}, 0.1, work, look, kGoOn),
                   BackendError);
    }
  }
}

TEST(DurableLoadTest, HasMoreTimeToArmTenMillionTimersBefore) {
  EXPECT_EQ(DurableBench::most_seconds_to_arm(1'000), 45);
  EXPECT_EQ(DurableBench::most_seconds_to_arm(1'000'000), 45);
  EXPECT_EQ(DurableBench::most_seconds_to_arm(10'000'000), 450);
}

struct CancelsSlowly : Wrapped {
  using Wrapped::Wrapped;
  bool cancel(DurableId id) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return queue_->cancel(id);
  }
};

TEST(DurableLoadTest, EndsWithinALargeBatch) {
  DurableLoad load = kLoad;
  // Clients are threads, and processes, whose server has to answer on a busy machine.
  for (const auto& [name, batch] :
       {std::pair("journal_wheel_0", kMostBatch), std::pair("redis_memory", kMostBatch / 10)}) {
    load.batch = batch;
    const DurableFigures cut = measure_churn(load, contender<CancelsSlowly>(name), kGoOn);
    EXPECT_EQ(cut.failure, "") << "what was not cancelled is left";
    EXPECT_EQ(cut.timers, cut.cancel.count());
    EXPECT_LT(cut.timers, batch / 10) << "a batch took its cancels to the end";
  }
}

struct CrashesWhenItCancels : Wrapped {
  using Wrapped::Wrapped;
  bool cancel(DurableId) override {
    raise(SIGKILL);
    return true;
  }
};

TEST(DurableLoadTest, TellsThatAClientHasCrashed) {
  EXPECT_EQ(error_of([] {
              measure_churn(kLoad, contender<CrashesWhenItCancels>("redis_memory"), kGoOn);
            }),
            "a client was ended by the signal 9 (Killed)");
}

TEST(ClientReportTest, SamplesManyCallsAndKeepsTheLongest) {
  ClientReport report;
  constexpr int kCalls = 200'000;  // longer and longer, but for the longest
  report.add(Timed::arm, 1e9);
  for (int i = 1; i < kCalls; ++i) report.add(Timed::arm, 100 + i);
  const Durations arm = report.durations(Timed::arm);
  EXPECT_EQ(arm.count(), kCalls);
  EXPECT_EQ(arm.max(), 1e9);
  EXPECT_NEAR(arm.mean(), (1e9 + kCalls * 1e5) / kCalls, 2e3);
  EXPECT_NEAR(arm.quantile(0.5).value(), 1e5, 4e3);
  EXPECT_EQ(report.durations(Timed::cancel).count(), 0U);
}

TEST(DurableLoadTest, RefusesALoadThatIsTooLarge) {
  const auto refusal = [](const auto& change) {
    DurableLoad load = kLoad;
    change(load);
    return error_of([&] { measure_churn(load, contender<Wrapped>(), kGoOn); });
  };
  EXPECT_EQ(refusal([](DurableLoad& load) { load.batch = kMostBatch + 1; }),
            "100001 timers a call are too many; take up to 100000");
  EXPECT_EQ(refusal([](DurableLoad& load) { load.clients = kMostClients + 1; }),
            "65 clients are too many; take up to 64");
  EXPECT_EQ(refusal([](DurableLoad& load) { load.shards = kMostShards + 1; }),
            "there cannot be 1025 shards; take 1 to 1024");
  EXPECT_EQ(
      refusal([](DurableLoad& load) { load.payload = kLongestPayload + 1; }),
      fmt::format("{} bytes are too many; take up to {}", kLongestPayload + 1, kLongestPayload));
}

TEST(DurableLoadTest, GivesUpIfItTakesTooLongToArmTheTimersBefore) {
  DurableLoad load = kLoad;
  load.pending = 1'000'000;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(measure_churn(load, contender<ArmsSlowly>(), kGoOn), ProgramFailure);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

// As when the next replica copies everything.
class SlowToBeMended : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void restart() override {
    WrappedEngine::restart();
    std::this_thread::sleep_for(std::chrono::seconds(3));
  }
};

TEST(DurableLoadTest, TellsWhenWhatWasDueIsHandedOutAfterACrash) {
  const auto restarts_in = [](const char* name) {
    const DurableContender& whole = durable_contender(name);
    const DurableFigures figures = measure_pending(
        kLoad,
        {.traits = whole.traits,
         .start =
             [&whole](const std::filesystem::path& folder) {
               return std::make_unique<SlowToBeMended>(
                   whole.start(folder), [](std::unique_ptr<DurableQueue> queue) { return queue; });
             }},
        kGoOn);
    EXPECT_EQ(figures.failure, "") << name;
    return figures.restart;
  };
  EXPECT_FALSE(restarts_in("redis_memory")) << "it has lost all";
  for (const char* name : {"redis_always", "redis_replica"}) {
    const auto restart = restarts_in(name);
    ASSERT_TRUE(restart) << name;
    EXPECT_GT(restart->first_seconds, 0) << name;
    EXPECT_LT(restart->first_seconds, 2) << name;
    EXPECT_GE(restart->last_seconds, restart->first_seconds) << name;
  }
}

TEST(DurableLoadTest, HasNoFiguresForWhatIsLostInACrash) {
  const DurableContender promises_too_much{.traits = durable_contender("redis_always").traits,
                                           .start = durable_contender("redis_memory").start};
  EXPECT_EQ(measure_pending(kLoad, promises_too_much, kGoOn).failure,
            "wrong: of 64 due timers 64 are gone after kill -9");
}

TEST(DurableLoadTest, HasNoFiguresForWhatIsLostInPartInACrash) {
  struct LosesTheFirstTen : Wrapped {
    using Wrapped::Wrapped;
    void schedule(std::span<const DurableTimer> timers) override {
      if (timers.size() > 1 || timers.front().id >= 10) queue_->schedule(timers);
    }
  };
  EXPECT_EQ(measure_pending(kLoad, contender<LosesTheFirstTen>("redis_always"), kGoOn).failure,
            "wrong: of 64 due timers 10 are gone after kill -9");
  EXPECT_EQ(measure_pending(kLoad, contender<LosesTheFirstTen>("redis_everysec"), kGoOn).failure,
            "wrong: of 64 due timers 10 are gone after kill -9")
      << "these were old enough";
}

// The process is killed while its queue is open: else a queue that writes when it is closed would
// seem to keep all.
TEST(DurableLoadTest, HasNoFiguresForWhatAKilledClientHasNotWritten) {
  struct WritesAtTheEnd : Wrapped {
    using Wrapped::Wrapped;
    void schedule(std::span<const DurableTimer> timers) override {
      if (timers.front().deadline > unix_now()) return queue_->schedule(timers);
      waiting.insert(waiting.end(), timers.begin(), timers.end());
    }
    ~WritesAtTheEnd() override { queue_->schedule(waiting); }
    std::vector<DurableTimer> waiting;
  };
  EXPECT_EQ(measure_pending(kLoad, contender<WritesAtTheEnd>(), kGoOn).failure,
            "wrong: of 64 due timers 64 are gone after kill -9");
}

TEST(DurableLoadTest, TellsWhyAnEngineDoesNotStartAgain) {
  struct Ends : WrappedEngine {
    using WrappedEngine::WrappedEngine;
    void restart() override {
      kill();
      throw DoesNotStartAgain("its file is spoilt");
    }
  };
  const DurableContender& whole = durable_contender("redis_always");
  const DurableContender contender{
      .traits = whole.traits, .start = [&whole](const std::filesystem::path& folder) {
        return std::make_unique<Ends>(whole.start(folder),
                                      [](std::unique_ptr<DurableQueue> queue) { return queue; });
      }};
  EXPECT_EQ(error_of([&] { measure_pending(kLoad, contender, kGoOn); }), "its file is spoilt");
}

TEST(DurableLoadTest, WorkersThatWaitAreCounted) {
  DurableLoad load = kLoad;
  load.seconds = 0.5;
  const DurableFigures memory = measure_idle(load, contender<Wrapped>("redis_memory"), kGoOn);
  EXPECT_EQ(memory.failure, "");
  EXPECT_EQ(memory.timers, 0U);
  // Each of the two waits for an answer, and then to be woken.
  EXPECT_GE(memory.client_wakeups, 2U);
  EXPECT_LT(memory.client_wakeups, 100U);
  EXPECT_GT(memory.server_wakeups.value(), 1U);
  EXPECT_GT(memory.server_living_cpu_seconds.value(), 0);
  EXPECT_GT(memory.network_bytes.value(), 100U);  // over its unix socket
  const DurableFigures journal = measure_idle(load, contender<Wrapped>(), kGoOn);
  EXPECT_FALSE(journal.server_wakeups.has_value());  // the engine is in the process
  EXPECT_FALSE(journal.network_bytes.has_value());
  const DurableFigures pair = measure_idle(load, contender<Wrapped>("redis_replica"), kGoOn);
  EXPECT_GT(pair.network_bytes.value(), 100U);
}

// --- The suite ---

TEST(DurableSuiteTest, ScenariosFireAsManyTimersAsTheySay) {
  const DurableSuite& suite = durable_suites().front();
  const auto measured = [&](std::string_view name, std::uint64_t size) {
    const auto scenario = std::ranges::find(suite.scenarios, name, &DurableLoadScenario::name);
    const RealtimeFigures figures =
        scenario->measure(durable_contender("journal_wheel_1"), size, {.seconds = 0.1});
    EXPECT_EQ(figures.failure, "") << name;
    return figures;
  };
  const auto calls_of = [](const RealtimeFigures& figures, std::string_view call) {
    for (const auto& [name, durations] : figures.distributions) {
      if (name == call) return durations.count();
    }
    return std::uint64_t{0};
  };
  EXPECT_EQ(calls_of(measured("workers", 4), "complete"), 20'000U / 100);
  EXPECT_EQ(calls_of(measured("claims", 100), "complete"), 20'000U / 100);
  EXPECT_EQ(calls_of(measured("claims", 10), "complete"), 2'000U / 10);
  for (const char* name : {"payload", "pending"}) {
    EXPECT_TRUE(std::ranges::any_of(measured(name, 1'000).counters, [](const auto& counter) {
      return counter.first == "fires_per_second";
    })) << name;
  }
}

// --- What engines have the system write ---

TEST(SyncCounterTest, CountsThisProcessAndThoseThatItForks) {
  const Scratch folder;
  const int file = open((folder.path() / "file").c_str(), O_RDWR | O_CREAT, 0600);
  const SyncCounter counter;
  EXPECT_EQ(fsync(file), 0);
  EXPECT_EQ(fdatasync(file), 0);
  EXPECT_EQ(fsync(-1), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(counter.count(), 3U);
  const pid_t child = fork();
  if (child == 0) _exit(fdatasync(file));
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(counter.count(), 4U);
  ASSERT_EQ(ftruncate(file, 1), 0);
  void* const memory = mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  EXPECT_EQ(msync(memory, 1, MS_ASYNC), 0);  // does not wait
  EXPECT_EQ(counter.count(), 4U);
  EXPECT_EQ(msync(memory, 1, MS_SYNC), 0);
  EXPECT_EQ(counter.count(), 5U);
  munmap(memory, 1);
  close(file);
}

TEST(SyncCounterTest, CountsAProgramThatItStarts) {
  const Scratch folder;
  const std::string dd =
      "dd if=/dev/zero of=" + (folder.path() / "file").string() + " bs=1 count=1 status=none ";
  const SyncCounter counter;
  ASSERT_EQ(std::system((dd + "conv=fsync").c_str()), 0);  // not told to
  EXPECT_EQ(counter.count(), 0U);
  counter.also_of([&] {
    EXPECT_EQ(std::system((dd + "conv=fsync").c_str()), 0);
    EXPECT_EQ(counter.count(), 1U);
    EXPECT_EQ(std::system((dd + "conv=fdatasync").c_str()), 0);
  });
  EXPECT_EQ(counter.count(), 2U);
  EXPECT_EQ(std::getenv("LD_PRELOAD"), nullptr);
}

TEST(SyncCounterTest, KnowsWhomItCounts) {
  const SyncCounter counter;
  std::array<pid_t, 2> sleepers{};
  const auto sleep = [](pid_t& sleeper) {
    sleeper = fork();
    if (sleeper != 0) return;
    execlp("sleep", "sleep", "60", nullptr);
    _exit(1);
  };
  counter.also_of([&] { sleep(sleepers[0]); });
  sleep(sleepers[1]);
  for (int i = 0; i < 100 && !counter.counts({sleepers[0]}); ++i) {  // until it has begun
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(counter.counts({sleepers[0]}));
  EXPECT_FALSE(counter.counts({sleepers[1]}));
  EXPECT_FALSE(counter.counts({sleepers[0], sleepers[1]}));
  for (const pid_t sleeper : sleepers) {
    kill(sleeper, SIGKILL);
    waitpid(sleeper, nullptr, 0);
  }
}

TEST(SyncCounterTest, ProgramsOfGoMakeTheSystemCallsThemselves) {
  EXPECT_FALSE(makes_own_system_calls("/bin/sh"));
  EXPECT_FALSE(makes_own_system_calls("/nowhere"));
  // As readelf -n shows it of etcd: an owner of 4 bytes, an id of 83, and the type 4.
  const std::string note("\4\0\0\0\x53\0\0\0\4\0\0\0Go\0\0NnmW", 20);
  const Scratch folder;
  EXPECT_TRUE(makes_own_system_calls(folder.write("go", std::string(992, 'x') + note)));
}

// A timer is armed and cancelled, by one client and one after the other.
TEST(SyncCounterTest, EnginesSynchroniseAsOftenAsTheySay) {
  DurableLoad load = kLoad;
  load.clients = load.batch = 1;
  load.seconds = 0.3;
  const auto measure = [&](const char* name) {
    return measure_churn(load, durable_contender(name), kGoOn);
  };
  const DurableFigures journal = measure("journal_wheel_0");
  // One for the timer that was armed when the time was over, and two whenever the file is written
  // anew, which happens once a MiB.
  constexpr std::uint64_t kFewestTimersInOneMebibyte = 5000;
  const std::uint64_t most_rewrites = journal.timers / kFewestTimersInOneMebibyte;
  EXPECT_GE(journal.syncs.value(), 2 * journal.timers);
  EXPECT_LE(journal.syncs.value(), 2 * journal.timers + 1 + 2 * most_rewrites);
  EXPECT_EQ(measure("redis_memory").syncs.value(), 0U);
  for (const DurableContender& one : durable_roster()) {  // some may not be built
    for (const char* name : {"redis_always", "sqlite_full", "postgres_on", "beanstalkd_f0"}) {
      // And now and then of themselves.
      if (one.traits.name != name) continue;
      const DurableFigures figures = measure(name);
      const auto timers = static_cast<double>(figures.timers);
      EXPECT_NEAR(static_cast<double>(figures.syncs.value()) / timers, 2, 0.3) << name;
    }
  }
}

// --- What processes have used ---

TEST(TcpBytesTest, CountsWhatBothEndsSend) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(tcp_bytes_of({getpid()})->connections, 0U);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), size), 0);
  const int server = accept(listener, nullptr, nullptr);
  const TcpBytes before = tcp_bytes_of({getpid()}).value();
  EXPECT_EQ(before.connections, 2U);
  std::string message(1'000, 'x');
  ASSERT_EQ(write(client, message.data(), 1'000), 1'000);
  ASSERT_EQ(read(server, message.data(), 1'000), 1'000);
  ASSERT_EQ(write(server, message.data(), 10), 10);
  ASSERT_EQ(read(client, message.data(), 10), 10);
  TcpBytes after{};
  for (int tries = 0; tries < 200 && after.sent < before.sent + 1'010; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until it is confirmed
    after = tcp_bytes_of({getpid()}).value();
  }
  EXPECT_EQ(after.sent - before.sent, 1'010U);
  EXPECT_EQ(after.received - before.received, 1'010U);
  for (const int one : {server, client, listener}) close(one);
}

TEST(ProcessTreeTest, CountsWaitsAndProcessorTimeOfThreads) {
  const ProcessTreeUsage before = usage_of_trees({getpid()});
  std::jthread([] {
    for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
    while (std::chrono::steady_clock::now() < end) {
    }
    const ProcessTreeUsage now = usage_of_trees({getpid()});  // while the thread lives
    EXPECT_GE(now.wakeups, 20U);
    EXPECT_GT(now.living_cpu_seconds, 0.01);
  }).join();
  EXPECT_GE(before.processes, 1U);
}

}  // namespace
}  // namespace timerbench
