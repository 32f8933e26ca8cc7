// The generators: reproducible, and what they say they are.
#include "workloads/workload.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "trace/stat.h"
#include "workloads/random.h"

namespace timerbench {
namespace {

Trace generate(std::string_view name, const WorkloadOptions& options) {
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload.generate(options);
  }
  throw std::invalid_argument(std::string(name));
}

TEST(RandomTest, IsTheSameOnEveryMachine) {
  Random random(1);
  EXPECT_EQ(random.next(), 0x910a2dec89025cc1U);
  EXPECT_EQ(random.below(1000), 745U);
  EXPECT_EQ(random.exponential(10'000) >> 32, 9710U);
  EXPECT_EQ(random.log_uniform(31), 204422616U);
}

TEST(RandomTest, ExponentialHasItsMeanAndTail) {
  constexpr int kDraws = 200'000;
  Random random(3);
  double sum = 0;
  int beyond_mean = 0;
  int beyond_three = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = std::ldexp(static_cast<double>(random.exponential(1000)), -32);
    sum += value;
    beyond_mean += value > 1000;
    beyond_three += value > 3000;
  }
  EXPECT_NEAR(sum / kDraws, 1000, 10);
  EXPECT_NEAR(beyond_mean / double{kDraws}, std::exp(-1), 0.005);
  EXPECT_NEAR(beyond_three / double{kDraws}, std::exp(-3), 0.003);
}

TEST(RandomTest, LogUniformReachesEveryOctaveAlike) {
  Random random(5);
  std::map<int, int> octaves;
  for (int i = 0; i < 31'000; ++i) ++octaves[std::bit_width(random.log_uniform(31))];
  ASSERT_EQ(octaves.size(), 31U);
  for (const auto& [bits, count] : octaves) EXPECT_NEAR(count, 1000, 200) << bits;
}

class WorkloadTest : public testing::TestWithParam<Workload> {};

TEST_P(WorkloadTest, TheSeedDecides) {
  const WorkloadOptions options{.size = 500, .items = 2000, .seed = 7};
  const Trace once = GetParam().generate(options);
  const Trace again = GetParam().generate(options);
  EXPECT_EQ(hash_ops(once.ops()), hash_ops(again.ops()));
  const Trace other = GetParam().generate({.size = 500, .items = 2000, .seed = 8});
  EXPECT_NE(hash_ops(once.ops()), hash_ops(other.ops()));
}

TEST_P(WorkloadTest, DescribesItselfTruly) {
  const Trace trace = GetParam().generate({.size = 700, .items = 3000});
  const TraceInfo& info = trace.info();
  EXPECT_EQ(info.workload, GetParam().name);
  EXPECT_EQ(info.item, GetParam().item);
  // The size is how many are pending, but for a rate.
  EXPECT_TRUE(info.capacity == 700 || info.workload == "arrivals");
  EXPECT_EQ(info.peak_pending, info.capacity);
  EXPECT_EQ(stat_trace(trace).peak_pending, info.capacity);
  EXPECT_GT(info.items, 0U);
  EXPECT_LE(info.setup_ops, trace.ops().size());
}

TEST_P(WorkloadTest, OneTimerIsEnough) {
  EXPECT_FALSE(GetParam().generate({.size = 1, .items = 10}).ops().empty());
}

INSTANTIATE_TEST_SUITE_P(Roster, WorkloadTest, testing::ValuesIn(workloads()),
                         [](const auto& info) { return std::string(info.param.name); });

// The digests of the operations, so that a change to a generator cannot pass unseen: it makes old
// results and new ones different workloads.
TEST(WorkloadTest, DefaultTracesAreWhatTheyWere) {
  const std::map<std::string, std::uint64_t> known = {
      {"fill", 3595422312884001293},   {"cancel", 8569025341450545435U},
      {"drain", 6332119807688911613},  {"churn", 686720146884736923},
      {"hold", 9189483940053035413},   {"keepalive", 5148517965551088837},
      {"bulk", 11211916666635379192U}, {"arrivals", 14984957790709683381U},
      {"herd", 16858268059396708801U}};
  for (const auto& [name, hash] : known) {
    EXPECT_EQ(hash_ops(generate(name, {.size = 1000, .items = 5000}).ops()), hash) << name;
  }
}

TEST(WorkloadTest, WhatIsMeasuredAndPerWhat) {
  struct Described {
    std::uint64_t setup_ops, items;
    double unit_ns = 1e6;
  };
  const std::map<std::string, Described> known = {
      {"fill", {2000, 1000}},  {"cancel", {1000, 1000}},        {"drain", {1000, 1000}},
      {"churn", {1000, 5000}}, {"hold", {1000, 5000}},          {"keepalive", {4063, 5000}},
      {"bulk", {2000, 1000}},  {"arrivals", {2910, 5000, 1e3}}, {"herd", {1000, 1000, 1e3}}};
  for (const auto& [name, described] : known) {
    const Trace trace = generate(name, {.size = 1000, .items = 5000, .seed = 3});
    EXPECT_EQ(trace.info().setup_ops, described.setup_ops) << name;
    EXPECT_EQ(trace.info().items, described.items) << name;
    EXPECT_EQ(trace.info().unit_ns, described.unit_ns) << name;
    EXPECT_EQ(trace.info().seed, 3U) << name;
  }
}

TEST(WorkloadTest, FillArmsUniformly) {
  const Trace trace = generate("fill", {.size = 50'000});
  EXPECT_EQ(trace.measured().size(), 50'000U);
  const TraceStat stat = stat_trace(trace);
  EXPECT_EQ(stat.counts.schedules, 100'000U);  // once before, to warm the queue
  EXPECT_EQ(stat.cancelled, 50'000U);
  EXPECT_EQ(stat.counts.advances, 0U);
  EXPECT_EQ(stat.percentiles[0].delay, 1U);
  EXPECT_NEAR(stat.percentiles[3].delay, 30'000, 600);
  EXPECT_NEAR(stat.percentiles[6].delay, 60'000, 10);
}

TEST(WorkloadTest, CancelEndsEveryTimer) {
  const Trace trace = generate("cancel", {.size = 10'000});
  EXPECT_EQ(trace.info().setup_ops, 10'000U);
  EXPECT_EQ(stat_trace(trace).cancelled, 10'000U);
}

TEST(WorkloadTest, DrainFiresEveryTimer) {
  const Trace trace = generate("drain", {.size = 10'000});
  EXPECT_EQ(trace.measured().size(), 60'000U);
  EXPECT_EQ(stat_trace(trace).fired, 10'000U);
}

TEST(WorkloadTest, ChurnLetsFewTimersLive) {
  const TraceStat small = stat_trace(generate("churn", {.size = 1000, .items = 50'000}));
  EXPECT_EQ(small.fired, 0U);
  // At one pair a tick a timer is chosen once in N ticks, and lives to fire with probability
  // E[e^(-delay / N)] = 0.233: 0.303 fires a pair.
  const TraceStat large = stat_trace(generate("churn", {.size = 30'000, .items = 300'000}));
  EXPECT_NEAR(static_cast<double>(large.fired) / 3e5, 0.303, 0.01);
  // With more timers a tick holds as many more pairs.
  const TraceStat largest = stat_trace(generate("churn", {.size = 90'000, .items = 300'000}));
  EXPECT_NEAR(static_cast<double>(largest.fired) / 3e5, 0.303, 0.01);
  EXPECT_EQ(largest.counts.advances, 100'000U);
  // From the beginning, however short the trace is.
  const TraceStat brief = stat_trace(generate("churn", {.size = 30'000, .items = 20'000}));
  EXPECT_NEAR(static_cast<double>(brief.fired) / 2e4, 0.303, 0.02);
}

TEST(WorkloadTest, HoldKeepsThePopulation) {
  const TraceStat stat = stat_trace(generate("hold", {.size = 1000, .items = 20'000}));
  EXPECT_EQ(stat.pending, 1000U);
  EXPECT_GE(stat.fired, 20'000U);
  EXPECT_EQ(stat.cancelled + stat.moved, 0U);
}

TEST(WorkloadTest, KeepaliveServesItsRateOfRequests) {
  const Trace trace = generate("keepalive", {.size = 10'000});
  EXPECT_NEAR(static_cast<double>(trace.info().items), 300.0 * 60, 100);
  const TraceStat stat = stat_trace(trace);
  EXPECT_NEAR(static_cast<double>(stat.duration), 90'000, 2'000);  // 30 s of setup, 60 s measured
  // A connection is idle for 30 s with probability e^-0.9.
  const double requests = 300.0 * 90;
  EXPECT_NEAR(static_cast<double>(stat.fired) / requests, std::exp(-0.9) / (1 - std::exp(-0.9)),
              0.15);
}

TEST(WorkloadTest, KeepaliveKeepsItsRateWithFewConnections) {
  const TraceStat stat = stat_trace(generate("keepalive", {.size = 10, .items = 1000}));
  EXPECT_NEAR(static_cast<double>(stat.duration), 30'000 + 1000 / 0.3e-3, 330'000);
}

TEST(WorkloadTest, BulkFiresAllOverAWideHorizon) {
  const TraceStat stat = stat_trace(generate("bulk", {.size = 20'000}));
  EXPECT_EQ(stat.fired, 20'000U);
  EXPECT_EQ(stat.cancelled, 20'000U);  // once before, to warm the queue
  EXPECT_GT(stat.duration, Tick{1} << 30);
}

TEST(WorkloadTest, ArrivalsComeAtTheirRateAndFireAtIt) {
  const Trace trace = generate("arrivals", {.size = 10'000});
  EXPECT_EQ(trace.info().items, 30'000U);
  const TraceStat stat = stat_trace(trace);
  EXPECT_NEAR(static_cast<double>(stat.duration), 1'048'576 + 3e6, 0.1e6);
  EXPECT_EQ(stat.cancelled + stat.moved, 0U);
  // Those that are armed with a mean of 151 ms to go.
  EXPECT_NEAR(static_cast<double>(stat.pending), 1510, 150);
  EXPECT_NEAR(static_cast<double>(trace.info().capacity), 1600, 200);
  EXPECT_GE(stat.percentiles.front().delay, 1024U);
  EXPECT_NEAR(stat.percentiles[3].delay, 32'768, 3'000);
  EXPECT_LT(stat.percentiles.back().delay, 1U << 20);
}

TEST(WorkloadTest, ArrivalsKeepEveryRate) {
  for (const TimerId rate : {1U, 77U, 300'000U, 1'000'000U}) {
    const Trace trace = generate("arrivals", {.size = rate, .items = 2'000});
    Tick duration = 0;
    for (const Op op : trace.measured()) duration += op.id == kAdvance ? op.arg : 0;
    EXPECT_NEAR(static_cast<double>(duration) * rate / 2e9, 1, 0.08) << rate;
  }
}

TEST(WorkloadTest, HerdIsDueAtOneInstant) {
  const Trace trace = generate("herd", {.size = 10'000});
  EXPECT_EQ(count_ops(trace.setup()).schedules, 10'000U);
  EXPECT_EQ(stat_trace(trace).percentiles.front().delay, 500'000U);
  EXPECT_EQ(stat_trace(trace).percentiles.back().delay, 500'000U);
  EXPECT_EQ(stat_trace(trace).fired, 10'000U);
}

}  // namespace
}  // namespace timerbench
