// What came between a measurement and its processor is counted.
#include "system/disturbance.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "scratch.h"

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

std::uint64_t major_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_majflt);
}

// The least of several times, for any may be disturbed: pages of this program may be on the disk.
template <class Action>
Disturbance least_of(int times, const Action& action) {
  const auto measure = [&] {
    const DisturbanceMeter meter;
    action();
    return meter.stop();
  };
  Disturbance least = measure();
  for (int i = 1; i < times; ++i) {
    const Disturbance once = measure();
    least.away = std::min(least.away, once.away);
    least.switches = std::min(least.switches, once.switches);
    least.faults = std::min(least.faults, once.faults);
  }
  return least;
}

Disturbance of_nothing() {
  return least_of(100, [] {});
}

// Leaves the test's thread where it may run.
class DisturbanceTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(sched_getaffinity(0, sizeof allowed_, &allowed_), 0); }
  void TearDown() override { ASSERT_EQ(sched_setaffinity(0, sizeof allowed_, &allowed_), 0); }

  cpu_set_t allowed_;
};

TEST_F(DisturbanceTest, SleepIsTimeAwayAndNoInvoluntarySwitch) {
  const Disturbance disturbance = least_of(5, [] { std::this_thread::sleep_for(20ms); });
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
  EXPECT_EQ(of_nothing().switches, 0U);  // what was before does not count
}

TEST_F(DisturbanceTest, WhatDisturbsAnotherThreadDoesNotCount) {
  const int here = sched_getcpu();
  Disturbance others[2];
  const auto compete = [here](Disturbance& own) {
    bind_to(here);
    const DisturbanceMeter meter;
    work_for(200ms);
    own = meter.stop();
  };
  const DisturbanceMeter meter;
  {
    const std::jthread first(compete, std::ref(others[0]));
    const std::jthread second(compete, std::ref(others[1]));
  }
  // A meter of the whole process would have all of both.
  EXPECT_LT(meter.stop().switches, std::max(others[0].switches, others[1].switches));
}

TEST_F(DisturbanceTest, APageReadFromADiskIsAFault) {
  const Scratch scratch;
  const std::string path = scratch.write("pages", std::string(1 << 20, 'x'));
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0);
  fsync(file);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  void* const memory = mmap(nullptr, 1 << 20, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::uint64_t before = major_faults();
  const DisturbanceMeter meter;
  for (int i = 0; i < 1 << 20; i += 4096) (void)static_cast<volatile const char*>(memory)[i];
  const Disturbance disturbance = meter.stop();
  const std::uint64_t faults = major_faults() - before;
  munmap(memory, 1 << 20);
  close(file);
  if (faults == 0) GTEST_SKIP() << "temporary files are in memory here";
  EXPECT_GT(disturbance.faults, 0U);
  EXPECT_LE(disturbance.faults, faults);
  EXPECT_EQ(of_nothing().faults, 0U);
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

TEST_F(DisturbanceTest, AMoveADiskOrALostProcessorSpoilsAFigure) {
  constexpr auto kElapsed = 1ms;
  EXPECT_FALSE((Disturbance{}.spoils(kElapsed)));
  EXPECT_TRUE((Disturbance{.migrations = 1}.spoils(kElapsed)));
  EXPECT_TRUE((Disturbance{.faults = 1}.spoils(kElapsed)));
  EXPECT_TRUE((Disturbance{.switches = 1, .away = 6us}.spoils(kElapsed)));
  EXPECT_FALSE((Disturbance{.switches = 1, .away = 4us}.spoils(kElapsed)));
  EXPECT_FALSE((Disturbance{.away = 500us}.spoils(kElapsed))) << "it was not taken away, it slept";
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
