// What java_timer does otherwise than the others.
#include "services/java_timer.h"

#include <gtest/gtest.h>

#include "service_fixture.h"

namespace timerbench {
namespace {

using JavaTimerTest = ServiceTest<JavaTimer>;

TEST_F(JavaTimerTest, ASlowTaskDelaysAll) {
  Fires begun;  // the deadline's place is taken by the instant
  on_fire_ = [&](TimerId id) {
    begun.push_back({id, clock_.now()});
    if (id == 0) clock_.set(clock_.now() + 50 * kMillisecond);
  };
  service_.schedule(0, 2 * kMillisecond);
  service_.schedule(1, 3 * kMillisecond);
  service_.schedule(2, 60 * kMillisecond);
  advance_to(2 * kMillisecond);
  advance_to(100 * kMillisecond);
  EXPECT_EQ(begun, (Fires{{0, 2 * kMillisecond}, {1, 52 * kMillisecond}, {2, 60 * kMillisecond}}));
}

TEST_F(JavaTimerTest, AnExceptionEndsIt) {
  on_fire_ = [](TimerId id) {
    if (id == 1) throw 1;
  };
  for (const TimerId id : {1U, 2U, 3U}) service_.schedule(id, id * kMillisecond);
  advance_to(10 * kMillisecond);
  EXPECT_EQ(fires(), (Fires{{1, kMillisecond}}));
  EXPECT_EQ(service_.failures(), 1U);
  EXPECT_THROW(service_.schedule(4, kHour), ServiceStopped);
  EXPECT_TRUE(service_.cancel(2));
  EXPECT_FALSE(service_.cancel(1));
  EXPECT_EQ(service_.stop(), (Fires{{3, 3 * kMillisecond}}));
}

// Trap: timers that are armed far ahead and cancelled must not pile up.
TEST_F(JavaTimerTest, WhatIsCancelledDoesNotPileUp) {
  service_.schedule(0, kHour);
  for (int i = 0; i < 1'000'000; ++i) {
    service_.schedule(1, 2 * kHour + i);
    service_.cancel(1);
  }
  EXPECT_EQ(service_.size(), 1U);
  EXPECT_LT(service_.entries(), 100U);
}

// What its head comment says of its memory, when nobody arms a timer any more.
TEST(JavaTimerEntriesTest, FewAreLeftAfterAFireToo) {
  constexpr TimerId kTimers = 1000;
  ManualClock clock;
  JavaTimer service({.capacity = kTimers, .clock = clock, .handler = [](TimerId, Tick) {}});
  for (TimerId id = 0; id < kTimers; ++id) service.schedule(id, kHour + id);
  service.schedule(0, kMillisecond);
  clock.settle();  // or the thread, awake for the nearer timer, purges between the cancels
  for (TimerId id = 2; id < kTimers; ++id) service.cancel(id);
  EXPECT_EQ(service.entries(), kTimers + 1);
  clock.settle();
  clock.set(kMillisecond);
  clock.settle();
  EXPECT_EQ(service.size(), 1U);
  EXPECT_LE(service.entries(), 2 * service.size() + 65);
}

TEST_F(JavaTimerTest, WakesForWhatIsCancelled) {
  service_.schedule(0, 2 * kMillisecond);
  clock_.settle();
  service_.cancel(0);
  const auto wakeups = service_.wakeups();
  advance_to(5 * kMillisecond);
  EXPECT_EQ(service_.wakeups(), wakeups + 1);
  EXPECT_EQ(service_.entries(), 0U);
}

}  // namespace
}  // namespace timerbench
