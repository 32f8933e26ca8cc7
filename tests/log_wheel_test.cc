// What a wheel of logs promises beyond the contract: one store where that suffices, a bounded
// number of dead entries, and no tick that moves a whole bucket.
#include "queues/log_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "print_backend.h"
#include "queues/log_calendar.h"
#include "queues/log_ring.h"
#include "replay/make_backend.h"
#include "verify/contract.h"
#include "verify/differential.h"

namespace timerbench {
namespace {

using Wheel = LogWheel<256>;

template <class Queue>
std::vector<TimerId> fired_by(Queue& wheel, Tick now) {
  std::vector<TimerId> ids;
  wheel.advance(now, [&](TimerId id, Tick) { ids.push_back(id); });
  return ids;
}

TEST(LogWheelTest, MovingLaterIsOneStore) {
  Wheel wheel({.capacity = 1});
  for (const Tick deadline : {10, 11, 300, 70'000, 12}) wheel.schedule(0, deadline);
  EXPECT_EQ(wheel.entries(), 1u);
  EXPECT_TRUE(fired_by(wheel, 11).empty());
  EXPECT_EQ(fired_by(wheel, 12), std::vector<TimerId>{0});
}

TEST(LogWheelTest, ArmingAgainUsesTheEntryThatStillWaits) {
  Wheel wheel({.capacity = 1});
  for (int i = 0; i < 10; ++i) {
    wheel.schedule(0, 10 + i);
    EXPECT_TRUE(wheel.cancel(0));
  }
  EXPECT_EQ(wheel.entries(), 1u);
  wheel.schedule(0, 30);
  EXPECT_EQ(wheel.entries(), 1u);
  EXPECT_TRUE(fired_by(wheel, 29).empty());
  EXPECT_EQ(fired_by(wheel, 30), std::vector<TimerId>{0});
  EXPECT_EQ(wheel.entries(), 0u);
}

TEST(LogWheelTest, OnlyTheEntryAtTheLookFires) {
  Wheel wheel({.capacity = 1});
  for (const Tick deadline : {50'000'000, 500'000, 20, 20, 19}) wheel.schedule(0, deadline);
  EXPECT_EQ(wheel.entries(), 4u);
  EXPECT_EQ(fired_by(wheel, 19), std::vector<TimerId>{0});
  EXPECT_TRUE(fired_by(wheel, 60'000'000).empty());
  EXPECT_EQ(wheel.entries(), 0u);
}

TEST(LogWheelTest, ADeadEntryIsDroppedWhenItIsLookedAt) {
  Wheel wheel({.capacity = 1});
  wheel.schedule(0, 100'000);
  wheel.schedule(0, 20);
  wheel.schedule(0, 10'000'000);
  fired_by(wheel, 99'000);
  EXPECT_EQ(wheel.entries(), 2u);
  fired_by(wheel, 100'000);
  EXPECT_EQ(wheel.entries(), 1u);
  EXPECT_EQ(fired_by(wheel, 10'000'000), std::vector<TimerId>{0});
}

// Whatever the caller does to one id or to all, dead entries are at most half as many as pending
// timers, a few per cent more while a sweep goes round, and a constant.
class Debt : public testing::Test {
 protected:
  static constexpr TimerId kTimers = 50'000;
  static constexpr std::size_t kMost = 8 * (kTimers / 5) + 2 * 1024;

  // Every so often, since it walks the buckets.
  void check() {
    if (++calls_ % 997 != 0) return;
    ASSERT_LE(wheel_.entries(), kMost) << wheel_.size() << " pending";
  }

  Wheel wheel_{{.capacity = kTimers}};
  std::size_t calls_ = 0;
};

TEST_F(Debt, OfTimersThatMoveNearerForEver) {
  for (int round = 0; round < 50; ++round) {
    for (TimerId id = 0; id < kTimers; ++id) {
      wheel_.schedule(id, 10'000'000 - 10'000 * round - id % 1000);
      check();
    }
  }
}

TEST_F(Debt, OfTimersThatAreCancelledAndArmedNearerForEver) {
  for (Tick now = 0; now < 100; ++now) {
    for (const Tick ahead : {3'000'000, 40'000, 200, 90'000'000}) {
      for (TimerId id = 0; id < kTimers; ++id) {
        wheel_.schedule(id, now + ahead + id % 7);
        wheel_.cancel(id);
        check();
      }
    }
    wheel_.advance(now, IgnoreExpiry{});
  }
}

// Each arming is nearer than the entry of the cancelled one before it, which a sweep may drop just
// then. If it were counted as dead all the same, sweeps would search for it for ever.
TEST_F(Debt, OfOneTimerWhoseWaitingEntryIsSwept) {
  const auto arm_and_cancel = [&](Tick deadline) {
    wheel_.schedule(0, deadline);
    wheel_.cancel(0);
  };
  for (Tick now = 0; now < 20'000; now += 10) {
    wheel_.advance(now, IgnoreExpiry{});
    for (const Tick width : {65'536, 256, 1}) {
      for (Tick position = 510; position > 2; --position) arm_and_cancel(now + position * width);
    }
    ASSERT_LE(wheel_.entries(), 2 * 1024u);
  }
  wheel_.advance(100'000'000, IgnoreExpiry{});
  EXPECT_EQ(wheel_.entries(), 0u);
}

// Time stands still, so each arming is nearer until it is due now.
TEST_F(Debt, OfTimersThatMoveUpToTheHand) {
  wheel_.schedule(0, 1000);
  EXPECT_EQ(fired_by(wheel_, 1000).size(), 1u);  // the hand is where a bucket was opened last
  const TimerId due = 10;
  for (TimerId id = 0; id < due; ++id) wheel_.schedule(id, 1000);
  for (const Tick deadline : {9'000'000, 90'000, 1500, 1200, 1002, 1001, 1000, 999}) {
    for (TimerId id = due; id < kTimers; ++id) {
      wheel_.schedule(id, deadline);
      check();
    }
  }
  EXPECT_EQ(fired_by(wheel_, 1000).size(), kTimers);
}

// The entry for a far deadline dies each time. When the timer is armed for that deadline again, its
// look does not tell the live entry from the dead ones.
TEST_F(Debt, OfOneDeadlineThatIsArmedAgainAfterEachFire) {
  for (Tick now = 1; now <= 15'000; ++now) {
    wheel_.schedule(0, 1'000'000'000);
    wheel_.schedule(0, now);
    ASSERT_EQ(fired_by(wheel_, now).size(), 1u);
    ASSERT_LE(wheel_.entries(), 2 * 1024u);
  }
  wheel_.schedule(0, 1'000'000'000);
  EXPECT_TRUE(fired_by(wheel_, 999'999'999).empty());
  EXPECT_EQ(fired_by(wheel_, 1'000'000'000), std::vector<TimerId>{0});
}

// Copies of an entry in one bucket: a timer that leaves it for the next tick, and comes back when
// it is looked at there.
TEST_F(Debt, OfTimersThatComeBackToTheirBucket) {
  for (Tick now = 1; now <= 30; ++now) {
    for (TimerId id = 0; id < kTimers; ++id) {
      wheel_.schedule(id, now + 1);
      wheel_.schedule(id, 1'000'000);
      check();
    }
    ASSERT_TRUE(fired_by(wheel_, now).empty());
  }
  EXPECT_TRUE(fired_by(wheel_, 999'999).empty());
  EXPECT_EQ(fired_by(wheel_, 1'000'000).size(), kTimers);
  EXPECT_EQ(wheel_.entries(), 0u);
}

TEST_F(Debt, OfManyThatFireAtOnce) {
  for (const Tick deadline : {900'000, 500'000, 70'000, 100}) {
    for (TimerId id = 0; id < kTimers; ++id) {
      wheel_.schedule(id, deadline + (id % 50 == 0 ? 800'000 : 0));
    }
  }
  EXPECT_EQ(fired_by(wheel_, 100).size(), kTimers - kTimers / 50);
  EXPECT_LE(wheel_.entries(), 3 * (kTimers / 50) / 2 + 2 * 1024);
}

// Timer 0 waits where a sweep would not leave it.
TEST_F(Debt, IsPaidOnceTheDeadAreDropped) {
  constexpr Tick kFar = 3 << 24;  // where a bucket begins
  for (const Tick deadline : {70'000, 300}) {
    for (TimerId id = 1; id < 2'001; ++id) wheel_.schedule(id, deadline);
  }
  EXPECT_EQ(fired_by(wheel_, 300).size(), 2'000u);
  fired_by(wheel_, 70'000);
  EXPECT_EQ(wheel_.entries(), 0u);
  for (TimerId id = 0; id < 100; ++id) wheel_.schedule(id, kFar + id);
  EXPECT_EQ(wheel_.next_wakeup(), kFar);
}

// Of 3 000 dead entries 1 024 may stay. Those that begin first are swept first.
TEST_F(Debt, WakesNoOneUpForBucketsThatWereSwept) {
  for (TimerId id = 0; id < 3'000; ++id) wheel_.schedule(id, id < 1'000 ? 1'000 : 70'000);
  for (TimerId id = 0; id < 3'000; ++id) wheel_.schedule(id, 300);
  wheel_.schedule(3'000, 80'000);
  EXPECT_EQ(fired_by(wheel_, 300).size(), 3'000u);
  EXPECT_GT(wheel_.next_wakeup(), 1'000u);
}

// A timer of a later round of a ring waits in a bucket that is not that of its granule. So a sweep
// must not put it back to where it was.
TEST(LogRingTest, OwesLittleBesideTimersOfLaterRounds) {
  constexpr TimerId kNear = 1'000, kFar = 14;  // one more than a chunk of a line has
  LogRing<512> ring({.capacity = kNear + kFar});
  for (TimerId id = kNear; id < kNear + kFar; ++id) ring.schedule(id, 1'000'000);
  for (Tick deadline = 500; deadline > 1; --deadline) {
    for (TimerId id = 0; id < kNear; ++id) ring.schedule(id, deadline);
    ASSERT_LE(ring.entries(), 2 * kNear + 2 * 1024);
  }
  EXPECT_EQ(ring.advance(2, IgnoreExpiry{}), kNear);
  EXPECT_EQ(ring.advance(999'999, IgnoreExpiry{}), 0u);
  EXPECT_EQ(ring.advance(1'000'000, IgnoreExpiry{}), kFar);
  EXPECT_EQ(ring.entries(), 0u);
}

TEST_F(Debt, OfCancelledTimersIsSweptInSmallParts) {
  for (const Tick deadline : {900'000, 500'000}) {
    for (TimerId id = 0; id < kTimers; ++id) wheel_.schedule(id, deadline);
  }
  for (TimerId id = 0; id < kTimers; ++id) wheel_.cancel(id);
  for (TimerId id = 0; id < 100; ++id) {
    const std::uint64_t before = wheel_.work().passed;
    wheel_.schedule(id, 100);
    EXPECT_LE(wheel_.work().passed - before, 100u);
  }
}

// The most timers that one advance() puts elsewhere, step by step, with N timers in so many ticks
// after `idle` ticks in which none is due.
std::uint64_t most_moved(TimerId timers, Tick ticks, Tick idle = 0, Tick step = 1) {
  Wheel wheel({.capacity = timers});
  for (TimerId id = 0; id < timers; ++id) {
    wheel.schedule(id, idle + 1 + std::uint64_t{id} * 7919 % ticks);
  }
  std::size_t fired = 0;
  std::uint64_t most = 0;
  for (Tick now = step; now < idle + ticks + step; now += step) {
    const std::uint64_t before = wheel.work().moved;
    fired += wheel.advance(now, IgnoreExpiry{});
    most = std::max(most, wheel.work().moved - before);
  }
  EXPECT_EQ(fired, timers);
  return most;
}

TEST(LogWheelTest, NoTickCascadesAWholeBucket) {
  EXPECT_LE(most_moved(200'000, 300'000), 800u);    // a bucket of 65 536 ticks has 44 000 timers
  EXPECT_LE(most_moved(500'000, 10'000), 150u);     // one of 256 ticks has 12 800, and a tick 50
  EXPECT_LE(most_moved(1'000'000, 200'000), 800u);  // a bucket of 65 536 ticks has 328 000
}

TEST(LogWheelTest, NoLongerStepCascadesAWholeBucket) {
  EXPECT_LE(most_moved(500'000, 10'000, 0, 16), 1'000u);  // of 12 800; 800 fire
}

TEST(LogWheelTest, NoTickCascadesAWholeBucketAfterIdleTime) {
  for (const Tick idle : {600, 70'000, 200'000}) EXPECT_LE(most_moved(50'000, 100, idle), 300u);
}

// All timers are armed for one tick, and moved far away before it comes. What waits in an upper bucket
// is settled in parts; what is in the bucket of the tick itself is looked at by one call.
TEST(LogWheelTest, AHerdThatHasMovedIsLookedAtOnceIfItsTickIsNear) {
  constexpr TimerId kTimers = 10'000;
  const auto most_moved_of_a_herd = [](Tick due) {
    Wheel wheel({.capacity = kTimers});
    for (TimerId id = 0; id < kTimers; ++id) wheel.schedule(id, due);
    const Tick moved_at = due - due / 50;
    wheel.advance(moved_at, IgnoreExpiry{});
    for (TimerId id = 0; id < kTimers; ++id) wheel.schedule(id, due + 60'000);
    std::uint64_t most = 0;
    for (Tick now = moved_at + 1; now <= due + 1'000; ++now) {
      const std::uint64_t before = wheel.work().moved;
      EXPECT_EQ(wheel.advance(now, IgnoreExpiry{}), 0u);
      most = std::max(most, wheel.work().moved - before);
    }
    return most;
  };
  EXPECT_LE(most_moved_of_a_herd(60'000), 800u);
  EXPECT_EQ(most_moved_of_a_herd(200), kTimers);
}

// Once all of the bucket has cascaded, nothing is to be looked at when it begins.
TEST(LogWheelTest, WhatHasCascadedAheadWakesNoOneUpBeforeItIsDue) {
  constexpr TimerId kTimers = 5'000;
  Wheel wheel({.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) wheel.schedule(id, 700);
  for (Tick now = 1; now < 512; ++now) wheel.advance(now, IgnoreExpiry{});
  EXPECT_EQ(wheel.next_wakeup(), 700u);
}

TEST(LogWheelTest, TellsTheWorkOfItsCalls) {
  Wheel wheel({.capacity = 5});
  for (const TimerId id : {0, 1, 2}) wheel.schedule(id, 70'000);  // level 1
  for (const TimerId id : {3, 4}) wheel.schedule(id, 200'000);    // level 2
  wheel.schedule(1, 10);
  wheel.cancel(2);
  EXPECT_EQ(wheel.queued(), 3u);
  EXPECT_EQ(wheel.advance(10, IgnoreExpiry{}), 1u);
  EXPECT_EQ(wheel.work().moved + wheel.work().passed, 0u);
  EXPECT_EQ(wheel.advance(69'999, IgnoreExpiry{}), 0u);
  EXPECT_EQ(wheel.work().moved, 1u);
  EXPECT_EQ(wheel.work().passed, 2u);
  EXPECT_EQ(wheel.work().level, 1u);
  wheel.schedule(2, 2 * 65'536 + 1);  // level 1, though a bucket of level 2 begins there as well
  EXPECT_EQ(wheel.advance(2 * 65'536, IgnoreExpiry{}), 1u);
  EXPECT_EQ(wheel.work().moved, 2u);
  EXPECT_EQ(wheel.work().level, 1u);
  EXPECT_EQ(wheel.advance(199'000, IgnoreExpiry{}), 1u);
  EXPECT_EQ(wheel.work().moved, 4u);
  EXPECT_EQ(wheel.work().level, 2u);
  EXPECT_EQ(wheel.queued(), 1u);
}

// The example at the head of log_wheel.h.
TEST(LogWheelTest, WorksAsItsExampleSays) {
  const TimerId a = 0;
  const TimerId b = 1;
  LogWheel<4> wheel({.capacity = 2});
  const auto advance = [&](Tick now) { return wheel.advance(now, IgnoreExpiry{}); };
  wheel.schedule(a, 3);
  wheel.schedule(b, 9);
  wheel.schedule(a, 6);
  EXPECT_EQ(wheel.entries(), 2u);
  wheel.schedule(b, 7);
  EXPECT_EQ(wheel.entries(), 3u);
  EXPECT_TRUE(wheel.cancel(b));
  EXPECT_EQ(wheel.next_wakeup(), 3u);
  EXPECT_EQ(advance(3), 0u);
  EXPECT_EQ(wheel.next_wakeup(), 6u);
  wheel.schedule(b, 30);
  EXPECT_EQ(wheel.entries(), 3u);
  EXPECT_EQ(advance(7), 1u);
  EXPECT_EQ(wheel.next_wakeup(), 8u);
  EXPECT_EQ(advance(8), 0u);
  EXPECT_EQ(wheel.entries(), 1u);
  EXPECT_EQ(wheel.next_wakeup(), 28u);
  EXPECT_EQ(advance(30), 1u);
}

// Two blocks of level 0 in one word of a bitmap.
TEST(LogWheelTest, FindsAnUpperBucketThatBeginsBeforeTheNextOfLevelZero) {
  LogWheel<4> wheel({.capacity = 4});
  wheel.schedule(0, 12);  // level 1
  wheel.schedule(1, 8);
  EXPECT_EQ(wheel.advance(8, IgnoreExpiry{}), 1u);
  wheel.schedule(2, 14);  // level 0, which reaches to 15 now
  wheel.schedule(3, 9);
  EXPECT_EQ(wheel.advance(9, IgnoreExpiry{}), 1u);
  EXPECT_EQ(wheel.next_wakeup(), 12u);
  EXPECT_EQ(wheel.advance(12, IgnoreExpiry{}), 1u);
  EXPECT_EQ(wheel.advance(14, IgnoreExpiry{}), 1u);
}

TEST(LogWheelTest, WakesUpNowForWhatIsOverdue) {
  Wheel wheel({.capacity = 1, .granularity = 10});
  wheel.advance(1'015, IgnoreExpiry{});
  wheel.schedule(0, 900);
  EXPECT_EQ(wheel.next_wakeup(), 1'015u);
}

// An advance() that finds nothing to do leaves the hand where it is.
TEST(LogWheelTest, WakesUpNowForWhatBecameOverdueInIdleTime) {
  Wheel wheel({.capacity = 1});
  wheel.advance(5, IgnoreExpiry{});
  wheel.advance(100, IgnoreExpiry{});
  wheel.schedule(0, 50);
  EXPECT_EQ(wheel.next_wakeup(), 100u);
  EXPECT_EQ(fired_by(wheel, 100), std::vector<TimerId>{0});
}

// With such bounds the few timers of a random trace suffice for buckets that cascade in parts, and
// for sweeps.
constexpr LogDesign kTight{.lines = 1, .at_once = 4, .slack = 4};
constexpr LogDesign kTightCalendar{.at_once = 4, .slack = 4};
constexpr LogDesign kTightRing{.lines = 1, .slack = 4, .is_ring = true};

class TightTest : public testing::TestWithParam<Backend> {};

TEST_P(TightTest, KeepsTheContract) {
  for (const ContractScenario& scenario : contract()) {
    SCOPED_TRACE(scenario.name);
    EXPECT_NO_THROW(scenario.run(GetParam()));
  }
  const StopFlag never = false;
  const DifferentialResult result =
      test_differentially(GetParam(), /*seed=*/1, std::chrono::seconds(2), never);
  EXPECT_FALSE(result.counterexample)
      << to_text(*result.counterexample, GetParam().traits.name, "timerbench");
}

INSTANTIATE_TEST_SUITE_P(Designs, TightTest,
                         testing::Values(make_backend<LogWheel<4, kTight>>(),
                                         make_backend<LogWheel<64, kTight>>(),
                                         make_backend<LogRing<16, kTightRing>>(),
                                         make_backend<LogCalendar<4, kTightCalendar>>(),
                                         make_backend<LogCalendar<64, kTightCalendar>>()),
                         [](const auto& info) { return std::string(info.param.traits.name); });

// Only so that a slot stands for one bucket: that of the hand has what is overdue.
TEST(LogWheelTest, WhatIsOverdueDoesNotDisturbWhatIsAWholeLevelAhead) {
  for (const Tick level : {2 * 256, 2 * 65'536, 2 << 24}) {
    Wheel wheel({.capacity = 2});
    wheel.schedule(0, 0);
    wheel.schedule(1, level);
    EXPECT_EQ(fired_by(wheel, 0), std::vector<TimerId>{0});
    EXPECT_TRUE(fired_by(wheel, level - 1).empty());
    EXPECT_EQ(fired_by(wheel, level), std::vector<TimerId>{1});
  }
}

TEST(LogWheelTest, AJumpLeavesNothingBehind) {
  Wheel wheel({.capacity = 3});
  wheel.schedule(0, 255);
  wheel.schedule(1, 256 * 256 + 1);
  wheel.schedule(2, kNever - 1);
  EXPECT_EQ(fired_by(wheel, Tick{1} << 40), (std::vector<TimerId>{0, 1}));
  EXPECT_TRUE(fired_by(wheel, kNever - 2).empty());
  EXPECT_EQ(fired_by(wheel, kNever - 1), std::vector<TimerId>{2});
}

// As far ahead as time goes: a later round begins after its end.
TEST(LogRingTest, LooksNoFurtherThanTheEndOfTime) {
  for (const Tick before : {1, 255, 256, 300, 600, 2000}) {
    LogRing<256> ring({.capacity = 2, .start = kNever - 1 - before});
    ring.schedule(0, kNever - 1);
    ring.schedule(1, kNever - 2);
    EXPECT_EQ(fired_by(ring, kNever - 2), std::vector<TimerId>{1}) << before;
    EXPECT_EQ(fired_by(ring, kNever - 1), std::vector<TimerId>{0}) << before;
  }
  LogRing<256> tick_by_tick({.capacity = 1, .start = kNever - 1'000});
  tick_by_tick.schedule(0, kNever - 1);
  for (Tick now = kNever - 999; now < kNever - 1; ++now) {
    ASSERT_TRUE(fired_by(tick_by_tick, now).empty()) << kNever - now;
  }
  EXPECT_EQ(fired_by(tick_by_tick, kNever - 1), std::vector<TimerId>{0});
}

// The example of its head.
TEST(LogRingTest, LooksAtALaterRoundOnceARound) {
  LogRing<4> ring({.capacity = 2});
  ring.schedule(0, 3);
  ring.schedule(1, 9);
  EXPECT_EQ(ring.next_wakeup(), 1u);
  EXPECT_EQ(ring.advance(1, IgnoreExpiry{}), 0u);
  EXPECT_EQ(ring.next_wakeup(), 3u);
  EXPECT_EQ(ring.advance(3, IgnoreExpiry{}), 1u);
  for (const Tick wakeup : {4, 7}) {
    EXPECT_EQ(ring.next_wakeup(), wakeup);
    EXPECT_EQ(ring.advance(wakeup, IgnoreExpiry{}), 0u);
  }
  EXPECT_EQ(ring.next_wakeup(), 9u);
  EXPECT_EQ(ring.advance(9, IgnoreExpiry{}), 1u);
}

}  // namespace
}  // namespace timerbench
