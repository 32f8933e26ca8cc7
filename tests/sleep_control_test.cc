// The machine's own lateness, and what an idle service costs.
#include "realtime/sleep_control.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace timerbench {
namespace {

const StopFlag kGoOn = false;

class SleepControlTest : public testing::TestWithParam<Waiting> {};

INSTANTIATE_TEST_SUITE_P(Waitings, SleepControlTest, testing::ValuesIn(kWaitings),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(SleepControlTest, TakesASampleOfEachPeriod) {
  const Durations lateness = measure_sleep_lateness(GetParam(), 60, 2 * kMillisecond, kGoOn);
  EXPECT_EQ(lateness.count(), 60U);
  EXPECT_GT(lateness.mean(), 0);
  EXPECT_LT(lateness.quantile(0.5).value(), 200 * kMillisecond);
}

TEST(SleepControlTest, AnInstantThatHasPassedCountsFromItsPlanOn) {
  const std::vector<Tick> offsets(1'000, 5 * kMillisecond);  // a herd
  const Durations lateness = measure_sleep_lateness(Waiting::condition, offsets, kGoOn);
  EXPECT_EQ(lateness.count(), 1'000U);
  EXPECT_GT(lateness.max(), lateness.quantile(0.01).value());
}

TEST(SleepControlTest, EndsWhenItIsStopped) {
  const StopFlag stop = true;
  const std::vector<Tick> offsets = {kHour};
  EXPECT_EQ(measure_sleep_lateness(Waiting::condition, offsets, stop).count(), 0U);
}

constexpr double kSeconds = 0.3;

double idle_wakeups(std::string_view name, Tick granularity) {
  for (const ServiceBackend& backend : services()) {
    if (backend.traits.name != name) continue;
    return idle_wakeups_per_second(backend, Waiting::condition, granularity, kSeconds, kGoOn);
  }
  return -1;
}

TEST(IdleWakeupsTest, TicklessServicesSleepAndTickingOnesTick) {
  EXPECT_EQ(idle_wakeups("locked_binary_heap", kMillisecond), 0);
  EXPECT_GT(idle_wakeups("ticking_scan", kMillisecond), 0);
  // A span of n granules has up to n + 1 of their instants, and the one before may wake it late.
  constexpr double kAtTheEnds = 2 / kSeconds;
  EXPECT_LE(idle_wakeups("ticking_scan", kMillisecond), 1'000 + kAtTheEnds);
  EXPECT_LE(idle_wakeups("ticking_scan", 50 * kMillisecond), 20 + kAtTheEnds);
}

}  // namespace
}  // namespace timerbench
