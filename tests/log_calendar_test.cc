// What a calendar of logs promises beyond the contract: short buckets are sorted whole, long ones
// are split, and no load makes the agenda long.
#include "queues/log_calendar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace timerbench {
namespace {

using Calendar = LogCalendar<256>;
using Fires = std::vector<std::pair<TimerId, Tick>>;

template <class Queue>
Fires fired_by(Queue& queue, Tick now) {
  Fires fires;
  queue.advance(now, [&](TimerId id, Tick deadline) { fires.emplace_back(id, deadline); });
  return fires;
}

bool is_ordered(const Fires& fires) {
  return std::is_sorted(fires.begin(), fires.end(),
                        [](const auto& a, const auto& b) { return a.second < b.second; });
}

TEST(LogCalendarTest, TheExampleOfItsHead) {
  LogCalendar<4> calendar({.capacity = 3});
  constexpr TimerId kA = 0, kB = 1, kC = 2;
  calendar.schedule(kA, 22);
  calendar.schedule(kB, 21);
  EXPECT_EQ(calendar.next_wakeup(), 20u);
  EXPECT_TRUE(fired_by(calendar, 20).empty());
  EXPECT_EQ(calendar.next_wakeup(), 21u);
  calendar.schedule(kC, 23);
  EXPECT_EQ(calendar.agenda_size(), 3u);
  EXPECT_EQ(calendar.queued(), 3u);
  calendar.schedule(kA, 40);
  EXPECT_EQ(calendar.entries(), 3u);
  EXPECT_EQ(fired_by(calendar, 23), (Fires{{kB, 21}, {kC, 23}}));
  EXPECT_EQ(fired_by(calendar, 40), (Fires{{kA, 40}}));
}

TEST(LogCalendarTest, OneTickFiresWithoutTheAgenda) {
  constexpr TimerId kTimers = 10'000;
  Calendar calendar({.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) calendar.schedule(id, 1'000'000'007);
  EXPECT_TRUE(fired_by(calendar, 1'000'000'006).empty());
  EXPECT_EQ(calendar.agenda_size(), 0u);
  EXPECT_EQ(fired_by(calendar, 1'000'000'007).size(), kTimers);
}

// The last bucket of time ends with kNever, which is also the deadline of a cancelled timer.
TEST(LogCalendarTest, ACancelledTimerDoesNotComeToTheAgenda) {
  Calendar calendar({.capacity = 20, .start = kNever - 60'000});
  for (TimerId id = 0; id < 20; ++id) {
    calendar.schedule(id, kNever - 1);
    calendar.cancel(id);
  }
  EXPECT_TRUE(fired_by(calendar, kNever - 1).empty());
  EXPECT_EQ(calendar.agenda_size(), 0u);
  EXPECT_EQ(calendar.entries(), 0u);
}

// 128 timers fill the agenda, so that others of its span go to buckets. These are opened while many
// are still in the agenda.
TEST(LogCalendarTest, ALongAgendaIsInOrder) {
  constexpr TimerId kTimers = 400;
  constexpr Tick kBegin = 3 * 65'536;
  std::mt19937_64 random(1);
  Calendar calendar({.capacity = kTimers});
  calendar.schedule(0, kBegin + 60'000);
  EXPECT_TRUE(fired_by(calendar, kBegin).empty());
  for (TimerId id = 1; id < kTimers; ++id) calendar.schedule(id, kBegin + 1 + random() % 60'000);
  std::size_t longest = 0;
  Fires fires;
  for (Tick now = kBegin; now < kBegin + 60'064; now += 64) {
    for (const auto& fire : fired_by(calendar, now)) fires.push_back(fire);
    longest = std::max(longest, calendar.agenda_size());
  }
  EXPECT_EQ(fires.size(), kTimers);
  EXPECT_TRUE(is_ordered(fires));
  EXPECT_GT(longest, 40u);
}

TEST(LogCalendarTest, TheAgendaStaysShortWhateverIsArmedForItsSpan) {
  constexpr TimerId kTimers = 5'000;
  Calendar calendar({.capacity = kTimers + 1});
  const Tick begin = Tick{1} << 40;
  calendar.schedule(kTimers, begin + 1'000'000'000);
  calendar.advance(begin, IgnoreExpiry{});  // opens a bucket that is as wide as 2^32 ticks
  for (TimerId id = 0; id < kTimers; ++id) {
    calendar.schedule(id, begin + 1 + id * std::uint64_t{2'654'435'761} % 999'999'937);
    EXPECT_LE(calendar.agenda_size(), 128u);
  }
  Fires fires;
  while (calendar.size() > 0) {
    for (const auto& fire : fired_by(calendar, calendar.next_wakeup())) fires.push_back(fire);
    EXPECT_LE(calendar.agenda_size(), 128u);
  }
  EXPECT_EQ(fires.size(), kTimers + 1);
  EXPECT_TRUE(is_ordered(fires));
  EXPECT_EQ(calendar.entries(), 0u);
}

TEST(LogCalendarTest, WhatIsCancelledAndArmedAgainInTheAgendaFiresOnce) {
  Calendar calendar({.capacity = 4});
  for (TimerId id = 0; id < 4; ++id) calendar.schedule(id, 10'000 + id);
  const Tick wakeup = calendar.next_wakeup();
  calendar.advance(wakeup, IgnoreExpiry{});
  ASSERT_EQ(calendar.agenda_size(), 4u);
  EXPECT_TRUE(calendar.cancel(2));
  calendar.schedule(2, 10'002);  // its entry still waits
  calendar.schedule(3, 10'000);  // before its entry, which is dead
  calendar.schedule(3, 10'003);
  EXPECT_EQ(calendar.entries(), 5u);
  EXPECT_EQ(fired_by(calendar, 20'000),
            (Fires{{0, 10'000}, {1, 10'001}, {2, 10'002}, {3, 10'003}}));
  EXPECT_EQ(calendar.entries(), 0u);
}

// One store each has moved them to after the span of the bucket that is opened.
TEST(LogCalendarTest, WhatIsDueLaterDoesNotFillTheAgenda) {
  Calendar calendar({.capacity = 10});
  for (const Tick deadline : {1'000, 1'000'000}) {
    for (TimerId id = 0; id < 10; ++id) calendar.schedule(id, deadline + id);
  }
  EXPECT_TRUE(fired_by(calendar, 900).empty());
  EXPECT_EQ(calendar.agenda_size(), 0u);
  EXPECT_EQ(calendar.entries(), 10u);
}

// An advance() that has nothing to look at still finds out that a long bucket follows.
TEST(LogCalendarTest, NoTickCascadesAWholeBucketAfterIdleTime) {
  constexpr TimerId kTimers = 50'000;
  for (const Tick idle : {600, 70'000, 200'000}) {
    Calendar calendar({.capacity = kTimers});
    for (TimerId id = 0; id < kTimers; ++id) calendar.schedule(id, idle + id % 100);
    std::uint64_t most = 0;
    for (Tick now = 1; now < idle + 100; ++now) {
      const std::uint64_t before = calendar.work().moved;
      calendar.advance(now, IgnoreExpiry{});
      most = std::max(most, calendar.work().moved - before);
    }
    EXPECT_EQ(calendar.size(), 0u);
    EXPECT_LE(most, 300u) << idle;
  }
}

// Each arming is earlier than the last, but none needs another entry.
TEST(LogCalendarTest, WhatIsOverdueHasOneEntryHoweverOftenItIsArmed) {
  Calendar calendar({.capacity = 1, .start = 10'000});
  for (Tick deadline = 10'000; deadline > 0; --deadline) calendar.schedule(0, deadline);
  calendar.schedule(0, 20'000);
  EXPECT_TRUE(fired_by(calendar, 10'000).empty());
  EXPECT_EQ(calendar.work().moved, 1u);
  EXPECT_EQ(calendar.work().passed, 0u);
  EXPECT_EQ(fired_by(calendar, 20'000), (Fires{{0, 20'000}}));
}

// Many fires leave more dead entries than there may be. The sweep that follows must not move what
// is due in the next tick.
TEST(LogCalendarTest, WhatASweepFindsInTheNextTickIsOnTime) {
  constexpr TimerId kTimers = 2'000;
  Calendar calendar({.capacity = kTimers + 1});
  for (const Tick deadline : {1'000'000, 100}) {
    for (TimerId id = 0; id < kTimers; ++id) calendar.schedule(id, deadline);
  }
  calendar.schedule(kTimers, 101);
  EXPECT_EQ(fired_by(calendar, 100).size(), kTimers);
  EXPECT_LE(calendar.entries(), 1'024u + 100);
  EXPECT_EQ(calendar.next_wakeup(), 101u);
  EXPECT_EQ(fired_by(calendar, 101), (Fires{{kTimers, 101}}));
}

TEST(LogCalendarTest, NoLongerStepCascadesAWholeBucket) {
  constexpr TimerId kTimers = 500'000;
  constexpr Tick kStep = 16;
  Calendar calendar({.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) calendar.schedule(id, 1 + id % 10'000);
  std::uint64_t most = 0;
  for (Tick now = kStep; calendar.size() > 0; now += kStep) {
    const std::uint64_t before = calendar.work().moved;
    calendar.advance(now, IgnoreExpiry{});
    most = std::max(most, calendar.work().moved - before);
  }
  EXPECT_LE(most, 1'000u);  // of 12 800; 800 fire
}

// Delays of 1 ns to 25 days, all octaves alike, which takes seven levels. Each fire arms its timer
// again, and the clock sleeps until the next wakeup. No bucket that is not cascaded ahead has more
// than 800 timers.
TEST(LogCalendarTest, MovesFewTimersWhereNanosecondsAndDaysMix) {
  constexpr TimerId kTimers = 50'000;
  constexpr Tick kLongest = Tick{25 * 86'400} * 1'000'000'000;
  std::mt19937_64 random(1);
  const auto delay = [&] {
    const Tick octave = Tick{1} << random() % 51;
    return std::min(octave + random() % octave, kLongest);
  };
  Calendar calendar({.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) calendar.schedule(id, delay());
  std::size_t fired = 0;
  for (Tick now = 0; fired < 3 * kTimers; now = calendar.next_wakeup()) {
    const std::uint64_t before = calendar.work().moved;
    const Fires fires = fired_by(calendar, now);
    ASSERT_LE(calendar.work().moved - before, 1'000u) << now;
    for (const auto& fire : fires) calendar.schedule(fire.first, now + delay());
    fired += fires.size();
  }
  EXPECT_LE(calendar.work().moved, fired);
  EXPECT_EQ(calendar.size(), kTimers);
}

TEST(LogCalendarTest, MovingNearerForEverLeavesFewEntries) {
  constexpr TimerId kTimers = 100;
  Calendar calendar({.capacity = kTimers});
  constexpr Tick kDeadline = Tick{1} << 60;
  for (Tick round = 0; round < 2'000; ++round) {
    for (TimerId id = 0; id < kTimers; ++id)
      calendar.schedule(id, kDeadline - round * (Tick{1} << 40));
    for (TimerId id = 0; id < kTimers; ++id) calendar.schedule(id, kDeadline + 1);
    calendar.advance(round, IgnoreExpiry{});
  }
  EXPECT_LE(calendar.entries(), 1'024 + 3 * kTimers);
}

// [32, 48) is opened first, and then [36, 40), which was reached more nearly.
TEST(LogCalendarTest, TakesToTheAgendaWhatABucketThatWasOpenedSpans) {
  LogCalendar<4> calendar({.capacity = 3});
  calendar.schedule(0, 45);
  calendar.advance(20, IgnoreExpiry{});
  calendar.schedule(1, 38);
  calendar.advance(36, IgnoreExpiry{});
  EXPECT_EQ(calendar.agenda_size(), 2U);
  calendar.schedule(2, 42);
  EXPECT_EQ(calendar.agenda_size(), 3U);
}

}  // namespace
}  // namespace timerbench
