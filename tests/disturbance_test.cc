// What came between a measurement and its processor is counted.
#include "system/disturbance.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <thread>

namespace timerbench {
namespace {

using namespace std::chrono_literals;

void work_for(std::chrono::nanoseconds duration) {
  for (const auto end = std::chrono::steady_clock::now() + duration;
       std::chrono::steady_clock::now() < end;) {
  }
}

void bind_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

// Leaves the test's thread where it may run.
class DisturbanceTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(sched_getaffinity(0, sizeof allowed_, &allowed_), 0); }
  void TearDown() override { ASSERT_EQ(sched_setaffinity(0, sizeof allowed_, &allowed_), 0); }

  cpu_set_t allowed_;
};

TEST_F(DisturbanceTest, SleepIsTimeAwayAndNoInvoluntarySwitch) {
  const DisturbanceMeter meter;
  std::this_thread::sleep_for(20ms);
  const Disturbance disturbance = meter.stop();
  EXPECT_GE(disturbance.away, 19ms);
  EXPECT_EQ(disturbance.faults, 0U);
}

TEST_F(DisturbanceTest, SharingAProcessorIsCounted) {
  const int here = sched_getcpu();
  bind_to(here);
  std::jthread other([&](const std::stop_token& stop) {
    bind_to(here);
    while (!stop.stop_requested()) work_for(1ms);
  });
  std::this_thread::sleep_for(5ms);
  const DisturbanceMeter meter;
  work_for(200ms);
  const Disturbance disturbance = meter.stop();
  EXPECT_GT(disturbance.switches, 0U);
  EXPECT_GT(disturbance.away, 20ms);
}

TEST_F(DisturbanceTest, AnotherProcessorIsAMigration) {
  if (CPU_COUNT(&allowed_) < 2) GTEST_SKIP() << "one processor only";
  int first = 0;
  while (!CPU_ISSET(first, &allowed_)) ++first;
  int second = first + 1;
  while (!CPU_ISSET(second, &allowed_)) ++second;
  bind_to(first);
  const DisturbanceMeter meter;
  bind_to(second);
  EXPECT_EQ(meter.stop().migrations, 1U);
}

TEST_F(DisturbanceTest, SumsUp) {
  Disturbance sum{.switches = 1, .migrations = 2, .faults = 3, .away = 4ns};
  sum += {.switches = 10, .migrations = 20, .faults = 30, .away = 40ns};
  EXPECT_EQ(sum.switches, 11U);
  EXPECT_EQ(sum.migrations, 22U);
  EXPECT_EQ(sum.faults, 33U);
  EXPECT_EQ(sum.away, 44ns);
}

}  // namespace
}  // namespace timerbench
