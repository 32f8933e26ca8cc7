// The clock that keeps a record of waits, under a clock that the test sets.
#include "realtime/watched_clock.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace timerbench {
namespace {

TEST(WatchedClockTest, RecordsWhenEachWaitBeganWasToEndAndEnded) {
  ManualClock manual;
  WatchedClock clock(manual);
  manual.set(5);
  EXPECT_EQ(clock.now(), 5U);
  {
    const std::unique_ptr<Alarm> alarm = clock.make_alarm();
    std::thread sleeper([&] {
      alarm->wait_until(100);
      alarm->wait_until(300);
      alarm->wait_until(kNever);
      alarm->wait_until(50);
    });
    manual.settle();
    manual.set(160);
    manual.settle();
    manual.set(200);
    alarm->ring();
    manual.settle();
    alarm->ring();
    sleeper.join();
    EXPECT_EQ(alarm->wakeups(), 4U);
  }
  ASSERT_EQ(clock.waits().size(), 1U);
  const auto& waits = clock.waits()[0];
  ASSERT_EQ(waits.size(), 4U);
  const auto expect = [](const Wait& wait, Tick begin, Tick until, Tick end, bool rung) {
    EXPECT_EQ(wait.begin, begin);
    EXPECT_EQ(wait.until, until);
    EXPECT_EQ(wait.end, end);
    EXPECT_EQ(wait.rung(), rung);
    EXPECT_EQ(wait.timed(), until != kNever);
  };
  expect(waits[0], 5, 100, 160, false);
  expect(waits[1], 160, 300, 200, true);
  expect(waits[2], 200, kNever, 200, true);
  expect(waits[3], 200, 50, 200, false);
}

TEST(WatchedClockTest, AThreadKnowsItsAlarm) {
  SteadyClock steady;
  WatchedClock clock(steady);
  {
    const std::unique_ptr<Alarm> first = clock.make_alarm();
    const std::unique_ptr<Alarm> second = clock.make_alarm();
    std::thread([&] {
      EXPECT_EQ(WatchedClock::alarm_of_this_thread(), WatchedClock::kNoAlarm);
      second->wait_until(0);
      EXPECT_EQ(WatchedClock::alarm_of_this_thread(), 1U);
      first->wait_until(0);
      EXPECT_EQ(WatchedClock::alarm_of_this_thread(), 0U);
    }).join();
  }
  EXPECT_EQ(clock.waits()[0].size(), 1U);
  EXPECT_EQ(clock.waits()[1].size(), 1U);
}

}  // namespace
}  // namespace timerbench
