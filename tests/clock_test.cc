// Clocks and alarms: the one part of the services that waits.
#include "services/clock.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/backend_error.h"

namespace timerbench {
namespace {

class AlarmTest : public testing::TestWithParam<Waiting> {
 protected:
  SteadyClock clock_{GetParam()};
  std::unique_ptr<Alarm> alarm_ = clock_.make_alarm();
};

INSTANTIATE_TEST_SUITE_P(Waitings, AlarmTest, testing::ValuesIn(kWaitings),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(AlarmTest, WakesAtTheInstantAndNotBefore) {
  const Tick until = clock_.now() + 5 * kMillisecond;
  alarm_->wait_until(until);
  EXPECT_GE(clock_.now(), until);
}

TEST_P(AlarmTest, DoesNotWaitForThePast) {
  for (const Tick past : {Tick{0}, Tick{1}, clock_.now()}) alarm_->wait_until(past);
}

TEST_P(AlarmTest, ARingEndsTheWaitHoweverFarTheInstant) {
  const Tick far[] = {clock_.now() + 3'600'000 * kMillisecond, Tick{1} << 63, kNever - 1, kNever};
  for (const Tick instant : far) {
    std::atomic<bool> waits = false;
    std::thread sleeper([&] {
      waits = true;
      alarm_->wait_until(instant);
    });
    while (!waits) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    alarm_->ring();
    sleeper.join();
  }
}

TEST_P(AlarmTest, ARingBeforeTheWaitIsKeptOnce) {
  alarm_->ring();
  alarm_->ring();
  alarm_->wait_until(kNever);
  const Tick until = clock_.now() + 2 * kMillisecond;
  alarm_->wait_until(until);
  EXPECT_GE(clock_.now(), until) << "the ring had been heard already";
}

// Each side waits for the other's ring, so that a single lost one would hang.
TEST_P(AlarmTest, NoRingIsLost) {
  constexpr int kRounds = 2000;
  const std::unique_ptr<Alarm> answer = clock_.make_alarm();
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      alarm_->wait_until(kNever);
      answer->ring();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    alarm_->ring();
    answer->wait_until(kNever);
  }
  other.join();
  EXPECT_EQ(alarm_->wakeups(), kRounds);
  EXPECT_EQ(answer->wakeups(), kRounds);
}

// Whether who waits leaves the processor of his own accord, as most of several waits have it. Not by
// the processor time that a wait takes: how much of that there is, others decide.
bool sleeps(Waiting waiting, Tick duration) {
  const auto times_left = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
  };
  SteadyClock clock(waiting);
  const std::unique_ptr<Alarm> alarm = clock.make_alarm();
  int slept = 0;
  for (int i = 0; i < 5; ++i) {
    const long before = times_left();
    alarm->wait_until(clock.now() + duration);
    slept += times_left() > before;
  }
  return slept >= 3;
}

TEST(WaitingTest, WhoSpinsKeepsTheProcessorAndWhoSleepsDoesNot) {
  constexpr Tick kLong = 20 * kMillisecond;
  for (const Waiting waiting :
       {Waiting::condition, Waiting::timerfd, Waiting::nanosleep, Waiting::sleep_then_spin}) {
    EXPECT_TRUE(sleeps(waiting, kLong)) << name(waiting);
  }
  EXPECT_FALSE(sleeps(Waiting::spin, kLong));
  constexpr Tick kShort = kMillisecond / 5;  // too short to sleep
  EXPECT_FALSE(sleeps(Waiting::sleep_then_spin, kShort));
}

TEST(WaitingTest, NanosleepAloneSetsTheThreadsTimerSlack) {
  for (const Waiting waiting : kWaitings) {
    std::thread([&] {
      prctl(PR_SET_TIMERSLACK, 50'000);
      SteadyClock clock(waiting);
      clock.make_alarm()->wait_until(clock.now() + kMillisecond);
      EXPECT_EQ(prctl(PR_GET_TIMERSLACK) == 1, waiting == Waiting::nanosleep) << name(waiting);
    }).join();
  }
}

TEST(WaitingTest, TimerfdAloneTakesDescriptors) {
  const auto timers = [] {
    int timers = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      timers += std::filesystem::read_symlink(entry, gone) == "anon_inode:[timerfd]";
    }
    return timers;
  };
  for (const Waiting waiting : kWaitings) {
    const std::unique_ptr<Alarm> alarm = SteadyClock(waiting).make_alarm();
    EXPECT_EQ(timers(), waiting == Waiting::timerfd ? 1 : 0) << name(waiting);
  }
  EXPECT_EQ(timers(), 0);
}

TEST(WaitingTest, WhatTheSystemRefusesIsUnavailable) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{.rlim_cur = 3, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_THROW(SteadyClock(Waiting::timerfd).make_alarm(), BackendUnavailable);
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(ManualClockTest, StandsStillUntilItIsSetAndNeverGoesBack) {
  ManualClock clock;
  EXPECT_EQ(clock.now(), 0U);
  clock.set(7);
  clock.set(5);
  EXPECT_EQ(clock.now(), 7U);
}

TEST(ManualClockTest, SettlesWhenAllThatWasDueHasHappened) {
  ManualClock clock;
  const std::unique_ptr<Alarm> alarm = clock.make_alarm();
  int woken = 0;
  std::thread sleeper([&] {
    for (const Tick instant : {Tick{10}, Tick{20}, kNever}) {
      alarm->wait_until(instant);
      ++woken;
    }
  });
  clock.settle();
  EXPECT_EQ(woken, 0);
  clock.set(10);
  clock.settle();
  EXPECT_EQ(woken, 1);
  clock.set(100);
  clock.settle();
  EXPECT_EQ(woken, 2);
  alarm->ring();
  sleeper.join();
  EXPECT_EQ(woken, 3);
}

}  // namespace
}  // namespace timerbench
