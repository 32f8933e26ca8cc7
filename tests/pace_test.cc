// The pace at which planned things get done.
#include "realtime/pace.h"

#include <gtest/gtest.h>

#include "services/clock.h"
#include "workloads/random.h"

namespace timerbench {
namespace {

constexpr Tick kGap = kMillisecond;

// A thousand things, one a millisecond, each late by late(i).
template <class Late>
double achieved(Late&& late, Tick count = 1'000) {
  Pace pace;
  for (Tick i = 0; i < count; ++i) pace.add(i * kGap, late(i));
  return pace.achieved();
}

TEST(PaceTest, WhatIsLateByTheSameKeepsUp) {
  EXPECT_EQ(achieved([](Tick) { return 0; }), 1);
  EXPECT_EQ(achieved([](Tick) { return 500 * kMillisecond; }), 1);
}

TEST(PaceTest, AQueueThatIsServedTooSlowlyGrows) {
  for (const double share : {0.98, 0.9, 0.5, 0.1}) {
    const auto late = [&](Tick i) {
      return static_cast<Tick>(static_cast<double>(i * kGap) * (1 / share - 1));
    };
    EXPECT_NEAR(achieved(late), share, 1e-3);
  }
}

TEST(PaceTest, WhatIsNotDoneIsNotAchieved) {
  Pace pace;
  for (Tick i = 0; i < 300; ++i) pace.add(i * kGap, 0);
  for (int i = 0; i < 100; ++i) pace.add_undone();
  EXPECT_EQ(pace.achieved(), 0.75);
  Pace nothing;
  nothing.add_undone();
  EXPECT_EQ(nothing.achieved(), 0);
  // Those done were late already: the rate was less than their number tells.
  Pace slow;
  for (Tick i = 0; i < 300; ++i) slow.add(i * kGap, i * kGap);
  slow.add_undone();
  EXPECT_NEAR(slow.achieved(), 0.5, 1e-3);
}

TEST(PaceTest, BatchesOnceATenthOfASecondKeepUp) {
  EXPECT_GT(achieved([](Tick i) { return (100 - i % 100) * kMillisecond; }), 0.99);
  Random random(1);
  EXPECT_GT(achieved([&](Tick) { return random.below(static_cast<std::uint32_t>(kMillisecond)); }),
            0.99);
}

TEST(PaceTest, AHiccupIsNoPace) {
  const auto hiccup = [](Tick from) {
    return [from](Tick i) { return i < from || i >= from + 200 ? 0 : (from + 200 - i) * kGap; };
  };
  for (const Tick from : {0, 400, 700}) EXPECT_EQ(achieved(hiccup(from)), 1) << from;
}

TEST(PaceTest, CatchingUpIsNotFasterThanThePlan) {
  EXPECT_EQ(achieved([](Tick i) { return (1'000 - i) * kGap; }), 1);
}

TEST(PaceTest, TooFewOrAllAtOnceTellNothing) {
  const auto growing = [](Tick i) { return i * kGap; };
  EXPECT_EQ(achieved(growing, 0), 1);
  EXPECT_EQ(achieved(growing, 19), 1);
  EXPECT_NEAR(achieved(growing, 20), 0.5, 0.01);
  Pace herd;
  for (Tick i = 0; i < 1'000; ++i) herd.add(kGap, i);
  EXPECT_EQ(herd.achieved(), 1);
}

TEST(PaceTest, TheOrderOfAddingDoesNotMatter) {
  Pace pace;
  for (Tick i = 1'000; i > 0; --i) pace.add(i * kGap, i * kGap);
  EXPECT_NEAR(pace.achieved(), 0.5, 1e-3);
}

}  // namespace
}  // namespace timerbench
