// Clocks and alarms: the one part of the services that waits.
#include "services/clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

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
