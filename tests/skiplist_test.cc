// What is known of Redis's zskiplist, stated of ours: order, spans, heights, moves, the tail.
#include "queues/skiplist.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "trace/model.h"

namespace timerbench {
namespace {

using Ids = std::vector<TimerId>;
using Timer = std::pair<Tick, TimerId>;

// All ids by rank.
Ids ids(const Skiplist& list) {
  Ids ids;
  for (std::size_t rank = 0; rank < list.size(); ++rank) ids.push_back(list.at_rank(rank));
  return ids;
}

Ids fired(Skiplist& list, Tick now) {
  Ids ids;
  list.advance(now, [&](TimerId id, Tick) { ids.push_back(id); });
  return ids;
}

TimerId tallest(const Skiplist& list) {
  TimerId tallest = list.at_rank(0);
  for (const TimerId id : ids(list)) {
    if (list.height(id) > list.height(tallest)) tallest = id;
  }
  return tallest;
}

// Timers 0 .. n - 1 at 10, 20, 30 ...
Skiplist evenly_spaced(TimerId n) {
  Skiplist list({.capacity = n});
  for (TimerId id = 0; id < n; ++id) list.schedule(id, 10 * (Tick{id} + 1));
  return list;
}

TEST(Skiplist, EmptyHasOneLevelAndNoWakeup) {
  Skiplist list({.capacity = 4});
  list.check();
  EXPECT_EQ(list.size(), 0u);
  EXPECT_EQ(list.levels(), 1);
  EXPECT_EQ(list.next_wakeup(), kNever);
  EXPECT_EQ(fired(list, kNever - 1), Ids{});
}

TEST(Skiplist, TiesAreOrderedById) {
  Skiplist list({.capacity = 12});
  for (const TimerId id : {10, 9, 2, 11, 0}) list.schedule(id, 5);
  list.schedule(3, 4);
  list.schedule(1, 6);
  list.check();
  EXPECT_EQ(ids(list), (Ids{3, 0, 2, 9, 10, 11, 1}));
  EXPECT_EQ(fired(list, 6), (Ids{3, 0, 2, 9, 10, 11, 1}));
}

TEST(Skiplist, CancelTakesTheRightOneOfATie) {
  Skiplist list({.capacity = 5});
  for (TimerId id = 0; id < 5; ++id) list.schedule(id, 7);
  EXPECT_TRUE(list.cancel(2));
  EXPECT_FALSE(list.cancel(2));
  list.check();
  EXPECT_EQ(ids(list), (Ids{0, 1, 3, 4}));
}

TEST(Skiplist, ANewDeadlineMovesTheTimer) {
  Skiplist list({.capacity = 3});
  list.schedule(0, 10);
  list.schedule(1, 20);
  list.schedule(2, 30);
  list.schedule(1, 1);
  list.check();
  EXPECT_EQ(ids(list), (Ids{1, 0, 2}));
  EXPECT_EQ(list.next_wakeup(), 1u);
  EXPECT_EQ(list.rank(2), 2u);
}

// A height is drawn at each insertion, so a tall node that keeps its height through many moves was
// not inserted again.
TEST(Skiplist, MovingStrictlyBetweenTheNeighboursIsDoneInPlace) {
  Skiplist list = evenly_spaced(200);
  const TimerId id = tallest(list);
  const int height = list.height(id);
  ASSERT_GE(height, 3);
  const Tick deadline = 10 * (Tick{id} + 1);
  for (Tick moved = deadline - 9; moved <= deadline + 9; ++moved) {
    list.schedule(id, moved);
    list.check();
    EXPECT_EQ(list.rank(id), id);
    EXPECT_EQ(list.height(id), height);
  }
}

TEST(Skiplist, TheFirstAndTheLastMoveInPlaceOnTheirOpenSide) {
  Skiplist list = evenly_spaced(2);
  for (int round = 0; round < 20; ++round) {
    const int first = list.height(0);
    const int last = list.height(1);
    list.schedule(0, 0);
    list.schedule(1, kNever - 1);
    list.check();
    EXPECT_EQ(list.next_wakeup(), 0u);
    EXPECT_EQ(list.height(0), first);
    EXPECT_EQ(list.height(1), last);

    list.cancel(0);
    list.cancel(1);
    list.schedule(0, 10);
    list.schedule(1, 20);
  }
}

TEST(Skiplist, MovingOntoANeighboursDeadlineGoesByTheId) {
  Skiplist list({.capacity = 6});
  list.schedule(5, 10);
  list.schedule(4, 20);
  list.schedule(3, 30);
  list.schedule(5, 20);
  list.check();
  EXPECT_EQ(ids(list), (Ids{4, 5, 3}));
  list.schedule(3, 20);
  list.check();
  EXPECT_EQ(ids(list), (Ids{3, 4, 5}));
  list.schedule(4, 20);
  list.check();
  EXPECT_EQ(ids(list), (Ids{3, 4, 5}));
}

TEST(Skiplist, EveryInsertionKeepsSpansEvenWhenItAddsALevel) {
  Skiplist list({.capacity = 600});
  std::mt19937 random(1);
  int levels = list.levels();
  int raised = 0;
  for (TimerId id = 0; id < 600; ++id) {
    list.schedule(id, random() % 1000);
    list.check();
    raised += list.levels() > levels;
    levels = list.levels();
  }
  EXPECT_GE(raised, 3);
}

TEST(Skiplist, CancellingTheTallestFirstLowersTheLevels) {
  Skiplist list = evenly_spaced(500);
  ASSERT_GE(list.levels(), 4);
  while (list.size() > 0) {
    const TimerId id = tallest(list);
    EXPECT_EQ(list.levels(), list.height(id));
    EXPECT_TRUE(list.cancel(id));
    list.check();
  }
  EXPECT_EQ(list.levels(), 1);
}

TEST(Skiplist, TheTailFollowsTheLast) {
  Skiplist list = evenly_spaced(50);
  for (TimerId id = 50; id-- > 0;) {
    EXPECT_TRUE(list.cancel(id));
    list.check();
  }
  list.schedule(7, 70);
  list.check();
  EXPECT_EQ(fired(list, 70), (Ids{7}));
  list.check();
}

TEST(Skiplist, AdvanceRemovesTheRangeUpToNow) {
  Skiplist list({.capacity = 7});
  for (TimerId id = 0; id < 6; ++id) list.schedule(id, id);
  list.schedule(6, kNever - 1);
  EXPECT_EQ(fired(list, 2), (Ids{0, 1, 2}));
  list.check();
  EXPECT_EQ(fired(list, 2), Ids{});
  EXPECT_EQ(fired(list, 4), (Ids{3, 4}));
  list.check();
  EXPECT_EQ(ids(list), (Ids{5, 6}));
  EXPECT_EQ(fired(list, kNever - 2), (Ids{5}));
  EXPECT_EQ(fired(list, kNever - 1), (Ids{6}));
  list.check();
}

TEST(Skiplist, AdvanceOverManyKeepsSpansAndLowersTheLevels) {
  Skiplist list = evenly_spaced(2000);
  std::size_t left = 2000;
  for (const Tick now : {10, 15, 500, 510, 9000, 19990, 20000}) {
    left -= list.advance(now, IgnoreExpiry{});
    list.check();
    EXPECT_EQ(left, 2000 - now / 10);
    EXPECT_EQ(list.size(), left);
  }
  EXPECT_EQ(list.levels(), 1);
}

TEST(Skiplist, ThousandsOfAddsStayInOrderAndRangesByRankAreRight) {
  std::mt19937 random(2);
  for (int round = 0; round < 10; ++round) {
    Skiplist list({.capacity = 1000});
    std::vector<Tick> deadlines(1000, kNever);
    for (int i = 0; i < 1000; ++i) {
      const TimerId id = random() % 1000;
      deadlines[id] = random() % 50;
      list.schedule(id, deadlines[id]);
    }
    list.check();

    std::vector<Timer> expected;
    for (TimerId id = 0; id < 1000; ++id) {
      if (deadlines[id] != kNever) expected.emplace_back(deadlines[id], id);
    }
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(list.size(), expected.size());
    for (int range = 0; range < 100; ++range) {
      const std::size_t first = random() % expected.size();
      const std::size_t end = first + random() % (expected.size() - first) + 1;
      for (std::size_t rank = first; rank < end; ++rank) {
        ASSERT_EQ(list.at_rank(rank), expected[rank].second);
        ASSERT_EQ(list.rank(expected[rank].second), rank);
      }
    }
  }
}

// Four standard deviations of a binomial count.
double tolerance(double n, double p) { return 4 * std::sqrt(n * p * (1 - p)); }

TEST(Skiplist, AQuarterOfEachLevelStandsInTheNext) {
  constexpr TimerId kTimers = 100'000;
  const Skiplist list = evenly_spaced(kTimers);
  std::vector<int> taller(Skiplist::kMaxHeight + 1);  // by height: how many are taller
  for (TimerId id = 0; id < kTimers; ++id) {
    const int height = list.height(id);
    ASSERT_LE(height, Skiplist::kMaxHeight);
    for (int h = 0; h < height; ++h) ++taller[h];
  }
  for (int h = 0; h <= 6; ++h) {
    const double share = std::pow(0.25, h);
    EXPECT_NEAR(taller[h], kTimers * share, tolerance(kTimers, share)) << "height " << h;
  }
}

TEST(Skiplist, AHeightIsDrawnAnewAtEachInsertion) {
  constexpr int kDraws = 20'000;
  Skiplist list({.capacity = 1});
  int tall = 0;
  for (int i = 0; i < kDraws; ++i) {
    list.schedule(0, 1);
    tall += list.height(0) > 1;
    list.cancel(0);
  }
  EXPECT_NEAR(tall, kDraws * 0.25, tolerance(kDraws, 0.25));
}

TEST(Skiplist, TheSameCallsMakeTheSameList) {
  const Skiplist a = evenly_spaced(300);
  const Skiplist b = evenly_spaced(300);
  for (TimerId id = 0; id < 300; ++id) EXPECT_EQ(a.height(id), b.height(id));
}

// Small ranges of deadlines for many ties, wide ones for none; populations that grow and drain.
TEST(Skiplist, AgreesWithTheModelStepByStep) {
  constexpr TimerId kCapacity = 80;
  for (const Tick spread : {4, 60, 100'000}) {
    std::mt19937 random(static_cast<std::uint32_t>(spread));
    Skiplist list({.capacity = kCapacity, .start = 1000});
    Model model({.capacity = kCapacity, .start = 1000});
    for (int step = 0; step < 4000; ++step) {
      const TimerId id = random() % kCapacity;
      switch (random() % 8) {
        case 0: {
          const Tick now = model.now() + random() % (spread / 2) - (random() % 16 == 0 ? 2 : 0);
          std::vector<Timer> expected;
          std::vector<Timer> actual;
          model.advance(now, [&](TimerId due, Tick at) { expected.emplace_back(at, due); });
          list.advance(now, [&](TimerId due, Tick at) { actual.emplace_back(at, due); });
          ASSERT_EQ(actual, expected) << "step " << step;
          break;
        }
        case 1: ASSERT_EQ(list.cancel(id), model.cancel(id)) << "step " << step; break;
        default: {
          const Tick deadline = model.now() + random() % spread - (random() % 16 == 0 ? 3 : 0);
          list.schedule(id, deadline);
          model.schedule(id, deadline);
        }
      }
      ASSERT_NO_THROW(list.check()) << "step " << step;
      ASSERT_EQ(list.size(), model.size()) << "step " << step;
      ASSERT_EQ(list.next_wakeup(), model.next_wakeup()) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace timerbench
