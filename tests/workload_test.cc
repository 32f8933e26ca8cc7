// The generators: reproducible, and what they say they are.
#include "workloads/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "scratch.h"
#include "trace/model.h"
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
  EXPECT_EQ(stat_trace(trace).peak_pending, info.peak_pending);
  EXPECT_LE(info.peak_pending, info.capacity);
  // The size is how many are pending, if only in the mean where objects have several timers or come
  // as they like; but for a rate.
  if (info.workload != "arrivals") {
    EXPECT_NEAR(static_cast<double>(info.peak_pending), 700, 0.2 * 700);
  }
  EXPECT_GT(info.items, 0U);
  EXPECT_LE(info.setup_ops, trace.ops().size());
}

TEST_P(WorkloadTest, IsTheSameFromAFile) {
  const Scratch scratch;
  const Trace trace = GetParam().generate({.size = 100'000, .items = 2'000});
  trace.save(scratch.path("t"));
  const Trace loaded = Trace::load(scratch.path("t"));
  EXPECT_EQ(hash_ops(loaded.ops()), hash_ops(trace.ops()));
  EXPECT_EQ(loaded.info().items, trace.info().items);
  EXPECT_EQ(loaded.info().peak_pending, trace.info().peak_pending);
}

TEST_P(WorkloadTest, OneTimerIsEnough) {
  EXPECT_FALSE(GetParam().generate({.size = 1, .items = 10}).ops().empty());
}

INSTANTIATE_TEST_SUITE_P(Roster, WorkloadTest, testing::ValuesIn(workloads()),
                         [](const auto& info) { return std::string(info.param.name); });

// What became of the timers in the measured part of a trace, for each item of it.
struct Ends {
  double fired = 0, cancelled = 0, moved = 0, moved_earlier = 0;
};
Ends ends_per_item(const Trace& trace) {
  Model model({.capacity = trace.info().capacity});
  const auto replay = [&](std::span<const Op> ops) {
    Ends ends;
    for (const Op op : ops) {
      if (op.id == kAdvance) {
        ends.fired += static_cast<double>(model.advance(model.now() + op.arg, IgnoreExpiry{}));
      } else if (op.arg == kCancel) {
        ends.cancelled += model.cancel(op.id);
      } else {
        ends.moved += model.pending(op.id);
        ends.moved_earlier += model.pending(op.id) && model.now() + op.arg < model.deadline(op.id);
        model.schedule(op.id, model.now() + op.arg);
      }
    }
    return ends;
  };
  replay(trace.setup());
  Ends ends = replay(trace.measured());
  const auto items = static_cast<double>(trace.info().items);
  for (double* sum : {&ends.fired, &ends.cancelled, &ends.moved, &ends.moved_earlier})
    *sum /= items;
  return ends;
}

// What each load is said to be, from the first measured operation on.
TEST(WorkloadTest, TimersEndAsTheirSourcesSay) {
  struct Said {
    const char* workload;
    double fired, cancelled, moved;  // an item
    double tolerance;
  };
  const Said all_said[] = {
      {"requests", 0.01, 0.99, 0, 0.002},
      {"purgatory_low", 0.079, 0.921, 0, 0.005},
      {"purgatory_high", 0.5, 0.5, 0, 0.01},
      {"read_timeouts", 0, 1, 0, 0},
      {"database", 0, 4, 0, 0.001},
      // The delayed acknowledgement fires where the answer takes more than 40 ms, 15 %; the
      // retransmission where the round trip takes more than 200 ms, 8 %, and twice 200 ms, 3 %.
      {"tcp", 0.28, 1.86, 0, 0.03},
      {"idle_connections", 0.0005, 0, 1, 0.001},
      {"leases", 0.001, 0, 1, 0.0006},
      {"orders", 0.14, 0.86, 0, 0.04},
      {"session", 11, 1, 11, 0.1},
      {"moved_earlier", 0, 0, 1, 0},
      {"pacing", 1, 0, 0, 0},
      {"jobs", 0.98, 0.02, 0, 0.003},
      {"lifetime", 1, 0, 0, 0},
      {"herds", 1, 0, 0, 0},
      {"sparse", 0, 0, 0, 0},
  };
  for (const Said& said : all_said) {
    const Ends ends = ends_per_item(generate(said.workload, {.size = 10'000, .items = 100'000}));
    EXPECT_NEAR(ends.fired, said.fired, said.tolerance) << said.workload;
    EXPECT_NEAR(ends.cancelled, said.cancelled, said.tolerance) << said.workload;
    EXPECT_NEAR(ends.moved, said.moved, said.tolerance) << said.workload;
  }
  EXPECT_NEAR(
      ends_per_item(generate("moved_earlier", {.size = 1000, .items = 10'000})).moved_earlier, 0.5,
      0.001);
}

TEST(WorkloadTest, CachedValuesAreOverwrittenHotOnesOften) {
  const Trace trace = generate("cache_ttl", {.size = 10'000, .items = 100'000});
  const Ends ends = ends_per_item(trace);
  EXPECT_GT(ends.moved, 0.9);
  EXPECT_GT(ends.fired, 0.001);
  std::map<TimerId, int> writes;
  for (const Op op : trace.measured()) writes[op.id] += op.id != kAdvance;
  std::vector<int> sorted;
  for (const auto& [key, count] : writes) sorted.push_back(count);
  std::ranges::sort(sorted, std::greater<>());
  EXPECT_GT(std::accumulate(sorted.begin(), sorted.begin() + 100, 0),
            40'000);  // of 1 % of the keys
}

TEST(WorkloadTest, OrdersComeInBurstsOnTheMinute) {
  const Trace trace = generate("orders", {.size = 10'000, .items = 20'000});
  Tick now = 0;
  double in_first_second = 0;
  for (const Op op : trace.measured()) {
    if (op.id == kAdvance) now += op.arg;
    in_first_second += op.id != kAdvance && op.arg != kCancel && now % 60'000 < 1'000;
  }
  EXPECT_NEAR(in_first_second / static_cast<double>(trace.info().items), 0.5 + 0.5 / 60, 0.03);
}

TEST(WorkloadTest, JobsAreMonthsAhead) {
  const Trace trace = generate("jobs", {.size = 1000, .items = 1000});
  EXPECT_EQ(trace.info().unit_ns, 1e9);
  EXPECT_GT(stat_trace(trace).percentiles[4].delay, 60U * 86'400);
}

TEST(WorkloadTest, HerdsFireATenthAtOnce) {
  const Trace trace = generate("herds", {.size = 1000, .items = 10'000});
  Model model({.capacity = 1000});
  std::size_t marks = 0;
  for (const Op op : trace.ops()) {
    if (op.id != kAdvance) {
      model.schedule(op.id, model.now() + op.arg);
    } else if (const std::size_t fired = model.advance(model.now() + op.arg, IgnoreExpiry{})) {
      EXPECT_NEAR(static_cast<double>(fired), 100, 40);
      ++marks;
    }
  }
  EXPECT_NEAR(static_cast<double>(marks), 100, 3);
}

TEST(WorkloadTest, ParametersChangeWhatIsGenerated) {
  const WorkloadOptions options{
      .size = 1000,
      .items = 20'000,
      .settings = {{"timeout", "constant 1s"}, {"latency", "uniform 1ms 2s"}}};
  const Trace trace = generate("requests", options);
  EXPECT_NEAR(ends_per_item(trace).fired, 0.5, 0.02);
  EXPECT_THAT(trace.info().parameters, testing::HasSubstr(R"("latency":"uniform 1ms 2s")"));
}

TEST(WorkloadTest, SettingsThatDoNotFitAreRefused) {
  const auto problem = [](const char* workload, Settings settings,
                          TimerId size = 10) -> std::string {
    try {
      generate(workload, {.size = size, .items = 10, .settings = std::move(settings)});
    } catch (const ParameterError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(problem("requests", {{"latncy", "constant 1s"}}),
            "requests has no parameter 'latncy'; did you mean 'latency'? It has timeout, latency, "
            "resolution");
  EXPECT_THAT(
      problem("requests", {{"latency", "often"}}),
      testing::StartsWith("latency: 'often' is no distribution of delays; write for example "
                          "'constant 30s', 'uniform 1ms 60s'"));
  EXPECT_EQ(problem("orders", {{"paid", "90%"}}), "paid: '90%' is not a share from 0 to 1");
  EXPECT_EQ(problem("churn", {{"pace", "0"}}),
            "pace: '0' is not a whole number from 1 to 1000000000");
  EXPECT_EQ(problem("leases", {{"ttl", "constant 10"}}),
            "ttl: '10' is not a duration: give a number and ns, us, ms, s, min, h or d");
  EXPECT_EQ(problem("jobs", {{"delay", "constant 1ms"}}),
            "'constant 1ms': 1ms is shorter than the workload's tick of 1s");
  EXPECT_EQ(problem("hold", {{"delay", "constant 50d"}}),
            "'constant 50d': 50d is more than the 2^32 ticks of 1ms that a trace can tell");
  EXPECT_EQ(problem("hold", {{"resolution", "0ns"}}), "resolution: at least 1ns");
  EXPECT_EQ(problem("churn", {{"delay", "constant 12ms"}}, 1000), "");
  EXPECT_EQ(problem("churn", {{"delay", "constant 8ms"}}, 1000),
            "delay: 'constant 8ms' is too short; more than 100 timers would fire for each pair, "
            "since a timer is chosen once in 1000 ms. Choose longer delays or a smaller pace");
  EXPECT_EQ(problem("hold", {{"resolution", "1ns"}, {"delay", "constant 5s"}}),
            "'constant 5s': 5s is more than the 2^32 ticks of 1ns that a trace can tell");
  EXPECT_EQ(problem("moved_earlier", {{"nearer", "20s"}}),
            "period, nearer and farther must be in this order");
}

// The same delays, only finer: timers that share a tick of 1 ms have one each.
TEST(WorkloadTest, AFinerResolutionSpreadsWhatFires) {
  const auto hold = [](std::string resolution) {
    return generate("hold",
                    {.size = 1000,
                     .items = 20'000,
                     .settings = {{"delay", "exponential 100ms"}, {"resolution", resolution}}});
  };
  const Trace coarse = hold("1ms"), fine = hold("1ns");
  EXPECT_EQ(coarse.info().unit_ns, 1e6);
  EXPECT_EQ(fine.info().unit_ns, 1);
  const auto median_ms = [](const Trace& trace) {
    return stat_trace(trace).percentiles[3].delay * trace.info().unit_ns / 1e6;
  };
  EXPECT_NEAR(median_ms(coarse), 69, 3);  // the mean times ln 2
  EXPECT_NEAR(median_ms(fine), 69, 3);
  EXPECT_LT(count_ops(coarse.ops()).advances, 20'000U / 5);
  EXPECT_GT(count_ops(fine.ops()).advances, 20'000U * 9 / 10);
}

// The digests of the operations, so that a change to a generator cannot pass unseen: it makes old
// results and new ones different workloads.
TEST(WorkloadTest, DefaultTracesAreWhatTheyWere) {
  const std::map<std::string, std::uint64_t> known = {{"fill", 6356076664145526851U},
                                                      {"cancel", 12157150289550604909U},
                                                      {"drain", 16430574473352765395U},
                                                      {"churn", 15829473337242177246U},
                                                      {"hold", 16154230706154614931U},
                                                      {"keepalive", 1994872399959531089U},
                                                      {"bulk", 17053785179691930731U},
                                                      {"requests", 5107376760252452573U},
                                                      {"purgatory_low", 5747467621181285694U},
                                                      {"purgatory_high", 11623724473857886347U},
                                                      {"read_timeouts", 17016135198335326251U},
                                                      {"database", 17245172491923118333U},
                                                      {"tcp", 4442589198778184426U},
                                                      {"idle_connections", 1977785006601850824U},
                                                      {"leases", 10482430090799661884U},
                                                      {"cache_ttl", 14939070725507657457U},
                                                      {"orders", 167510696723318983U},
                                                      {"session", 788743444612989222U},
                                                      {"moved_earlier", 11138296324446460296U},
                                                      {"pacing", 12294355482666859730U},
                                                      {"jobs", 16031486479537158169U},
                                                      {"lifetime", 4855611142860449808U},
                                                      {"herds", 17183312085983461513U},
                                                      {"sparse", 11912802078487910996U},
                                                      {"arrivals", 2990988439049538396U},
                                                      {"herd", 15070542131825861373U}};
  for (const Workload& workload : workloads()) {
    const std::uint64_t now =
        hash_ops(generate(workload.name, {.size = 1000, .items = 5000}).ops());
    const auto entry = known.find(std::string(workload.name));
    if (entry == known.end()) {
      ADD_FAILURE() << "a new workload: add {\"" << workload.name << "\", " << now << "U}";
    } else {
      EXPECT_EQ(now, entry->second) << workload.name;
    }
  }
  EXPECT_EQ(known.size(), workloads().size());
}

TEST(WorkloadTest, WhatIsMeasuredAndPerWhat) {
  struct Described {
    std::uint64_t setup_ops, items;
    double unit_ns = 1e6;
  };
  const std::map<std::string, Described> known = {
      {"fill", {2000, 1000}},          {"cancel", {1000, 1000}},
      {"drain", {1000, 1000}},         {"churn", {1000, 5000}},
      {"hold", {1000, 5000}},          {"keepalive", {4065, 5000}},
      {"bulk", {2000, 1000}},          {"requests", {1000, 5000}},
      {"purgatory_low", {1000, 5021}}, {"purgatory_high", {1000, 5007}},
      {"read_timeouts", {1000, 5004}}, {"database", {23'433, 5000, 1e3}},
      {"tcp", {4143, 5000}},           {"idle_connections", {2954, 5000}},
      {"leases", {1000, 5000}},        {"cache_ttl", {1000, 5000}},
      {"orders", {1000, 5000}},        {"session", {999, 5000, 2e4}},
      {"moved_earlier", {1000, 5000}}, {"pacing", {1000, 5000, 1e3}},
      {"jobs", {1000, 5000, 1e9}},     {"lifetime", {1000, 5000, 1e9}},
      {"herds", {1000, 5000}},         {"sparse", {1000, 5000}},
      {"arrivals", {2910, 5000, 1e3}}, {"herd", {1000, 1000, 1e3}}};
  for (const Workload& workload : workloads()) {
    const Trace trace = generate(workload.name, {.size = 1000, .items = 5000, .seed = 3});
    const TraceInfo& info = trace.info();
    EXPECT_EQ(info.seed, 3U) << workload.name;
    const auto entry = known.find(std::string(workload.name));
    if (entry == known.end()) {
      ADD_FAILURE() << "a new workload: check, and add {\"" << workload.name << "\", {"
                    << info.setup_ops << ", " << info.items << ", " << info.unit_ns << "}}";
      continue;
    }
    EXPECT_EQ(info.setup_ops, entry->second.setup_ops) << workload.name;
    EXPECT_EQ(info.items, entry->second.items) << workload.name;
    EXPECT_EQ(info.unit_ns, entry->second.unit_ns) << workload.name;
  }
  EXPECT_EQ(known.size(), workloads().size());
}

// Items are counted again, from the operations that are measured.
TEST(WorkloadTest, ItemsAreWhatTheyAreCalled) {
  const auto schedules = [](const Trace& trace) { return count_ops(trace.measured()).schedules; };
  const auto cancels = [](const Trace& trace) { return count_ops(trace.measured()).cancels; };
  const auto advances = [](const Trace& trace) { return count_ops(trace.measured()).advances; };
  const auto of_each = [](const Trace& trace, double number) {
    return static_cast<std::uint64_t>(std::llround(number * double(trace.info().items)));
  };
  const auto fires = [&](const Trace& trace) { return of_each(trace, ends_per_item(trace).fired); };
  const auto moves = [&](const Trace& trace) { return of_each(trace, ends_per_item(trace).moved); };
  const auto deadlines = [](const Trace& trace) -> std::uint64_t {  // of five timers the last
    return std::ranges::count_if(trace.measured(), [](const Op& op) {
      return op.id != kAdvance && op.arg != kCancel && op.id % 5 == 4;
    });
  };
  const std::map<std::string, std::function<std::uint64_t(const Trace&)>> items = {
      {"fill", schedules},
      {"cancel", cancels},
      {"drain", fires},
      {"churn", cancels},
      {"hold", fires},
      {"keepalive", moves},
      {"bulk", fires},
      {"requests", schedules},
      {"purgatory_low", schedules},
      {"read_timeouts", cancels},
      {"purgatory_high", schedules},
      {"idle_connections", moves},
      {"leases", moves},
      {"cache_ttl", schedules},
      {"orders", schedules},
      {"session", deadlines},
      {"moved_earlier", moves},
      {"pacing", fires},
      {"jobs", schedules},
      {"lifetime", fires},
      {"herds", fires},
      {"sparse", advances},
      {"arrivals", schedules},
      {"herd", fires}};
  // An item of these is several timers, which TimersEndAsTheirSourcesSay checks.
  const std::set<std::string> uncountable = {"database", "tcp"};
  for (const Workload& workload : workloads()) {
    const std::string name(workload.name);
    if (uncountable.contains(name)) continue;
    const auto entry = items.find(name);
    if (entry == items.end()) {
      ADD_FAILURE() << "a new workload: add {\"" << name << "\", COUNT}, where COUNT counts each "
                    << workload.item << " in a trace: schedules, cancels, fires, moves or advances";
      continue;
    }
    const Trace trace = generate(name, {.size = 1000, .items = 5000, .seed = 3});
    EXPECT_EQ(trace.info().items, entry->second(trace)) << name;
  }
  EXPECT_EQ(items.size() + uncountable.size(), workloads().size());
}

TEST(WorkloadTest, UnlessItemsAreToldThereAreEnough) {
  EXPECT_EQ(generate("churn", {.size = 1000}).info().items, 5'000'000U);
  EXPECT_EQ(generate("hold", {.size = 1000}).info().items, 1'000'000U);
  EXPECT_EQ(generate("pacing", {.size = 1000}).info().items, 1'000'000U);
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
  EXPECT_NEAR(static_cast<double>(trace.measured().size()), 60'000, 20);
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
  // A timer is chosen once in 33 333 ms here: E[e^(-delay / 33 333)] = 0.268.
  const TraceStat uneven = stat_trace(generate("churn", {.size = 100'000, .items = 60'000}));
  EXPECT_NEAR(static_cast<double>(uneven.fired) / 6e4, 0.366, 0.01);
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
              0.02);
}

// In finer ticks the same happens, but hardly two operations share an instant.
TEST(WorkloadTest, LoadsAreTheSameInNanoseconds) {
  const std::map<std::string, Settings> loads = {
      {"keepalive", {{"timeout", "4s"}, {"requests_per_100k_s", "22500"}}},
      {"churn", {{"delay", "uniform 2s 4s"}, {"pace", "2000"}}}};
  for (const auto& [name, settings] : loads) {
    SCOPED_TRACE(name);
    const auto in_ticks_of = [&](const char* resolution) {
      Settings own = settings;
      own.emplace_back("resolution", resolution);
      return stat_trace(
          generate(name, {.size = 10'000, .items = 100'000, .settings = std::move(own)}));
    };
    const TraceStat ms = in_ticks_of("1ms"), ns = in_ticks_of("1ns");
    const auto expect_near = [](auto one, auto other) {
      EXPECT_NEAR(static_cast<double>(one), static_cast<double>(other),
                  0.01 * static_cast<double>(other));
    };
    expect_near(ns.duration, ms.duration * 1'000'000);
    expect_near(ns.moved, ms.moved);
    expect_near(ns.cancelled, ms.cancelled);
    expect_near(ns.fired, ms.fired);
    EXPECT_GE(ns.counts.advances, 100'000U);
  }
}

TEST(WorkloadTest, ConnectionsAreAsOldAtFirstAsLater) {
  // Of 7.5 exponential silences: a request sees e^-7.5 / (1 - e^-7.5) time-outs.
  const Trace trace = generate("idle_connections", {.size = 100'000, .items = 1});
  EXPECT_EQ(trace.info().items, 1U);
  const TraceStat stat = stat_trace(trace);
  EXPECT_NEAR(static_cast<double>(stat.duration), 10'000, 200);  // a request of each
  EXPECT_NEAR(static_cast<double>(stat.fired), 55, 30);
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
