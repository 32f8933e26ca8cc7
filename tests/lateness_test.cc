// The split of lateness, on waits and fires made by hand.
#include "realtime/lateness.h"

#include <gtest/gtest.h>

#include <ostream>
#include <vector>

namespace timerbench {

void PrintTo(const Lateness& lateness, std::ostream* out) {
  *out << "rounding " << lateness.rounding << ", wakeup " << lateness.wakeup << ", processing "
       << lateness.processing;
}

namespace {

using Waits = std::vector<std::vector<Wait>>;

// Of a timer due at its deadline and armed long before, run in the thread of alarm 0.
Expiry expiry(Tick deadline, Tick fired) {
  return {.deadline = deadline, .due = deadline, .armed = 0, .fired = fired, .alarm = 0};
}

Lateness split(const Expiry& expiry, const Waits& waits) {
  const Lateness lateness = split_lateness(expiry, waits_behind(expiry, waits));
  EXPECT_EQ(lateness.sum(), expiry.fired - expiry.deadline);
  return lateness;
}

TEST(LatenessTest, ADriverThatSleepsUntilTheDeadlineIsLateByItsWakeup) {
  EXPECT_EQ(split(expiry(100, 165), {{{10, 100, 160}}}), (Lateness{0, 60, 5}));
}

TEST(LatenessTest, NothingIsLateThatFiresAtItsDeadline) {
  EXPECT_EQ(split(expiry(100, 100), {{{10, 100, 100}}}), (Lateness{0, 0, 0}));
}

TEST(LatenessTest, WhoIsDueDuringALateWakeupHasTheRestOfIt) {
  EXPECT_EQ(split(expiry(130, 170), {{{10, 100, 160}}}), (Lateness{0, 30, 10}));
  EXPECT_EQ(split(expiry(160, 170), {{{10, 100, 160}}}), (Lateness{0, 0, 10}));
}

TEST(LatenessTest, WhoIsDueWhileTheDriverIsAwakeWaitsBehindOthers) {
  EXPECT_EQ(split(expiry(170, 400), {{{10, 100, 160}, {500, 600, 610}}}), (Lateness{0, 0, 230}));
  EXPECT_EQ(split(expiry(170, 400), {{}}), (Lateness{0, 0, 230}));
}

TEST(LatenessTest, ATickAfterTheDeadlineIsRounding) {
  EXPECT_EQ(split(expiry(100, 265), {{{10, 200, 250}}}), (Lateness{100, 50, 15}));
}

TEST(LatenessTest, ATickThatWasMissedByAHairIsRoundingToo) {
  // Awake at 100, it sleeps from 110 on for a tick; and another one.
  EXPECT_EQ(split(expiry(100, 265), {{{0, 90, 95}, {110, 200, 250}}}), (Lateness{90, 50, 25}));
  EXPECT_EQ(split(expiry(100, 380), {{{110, 200, 250}, {260, 350, 370}}}), (Lateness{180, 70, 30}));
}

TEST(LatenessTest, TheGranuleIsRounding) {
  Expiry timer = expiry(100, 215);
  timer.due = 150;
  EXPECT_EQ(split(timer, {{{10, 150, 210}}}), (Lateness{50, 60, 5}));
  EXPECT_EQ(split(timer, {{{10, 120, 140}}}), (Lateness{50, 0, 65})) << "awake since 140";
  timer.fired = 130;
  EXPECT_EQ(split(timer, {{{10, 120, 125}}}), (Lateness{30, 0, 0})) << "before the granule's end";
}

TEST(LatenessTest, AWheelThatWakesEarlierToCascadeAndIsLate) {
  EXPECT_EQ(split(expiry(100, 175), {{{10, 80, 150}}}), (Lateness{0, 50, 25}));
  // In time for a second sleep.
  EXPECT_EQ(split(expiry(100, 175), {{{10, 80, 90}, {95, 100, 150}}}), (Lateness{0, 50, 25}));
}

TEST(LatenessTest, ALateArmingIsProcessingAndWhatFollowsItsRingIsWakeup) {
  Expiry timer = expiry(100, 365);
  timer.armed = 300;
  EXPECT_EQ(split(timer, {{{110, 900, 350}}}), (Lateness{0, 50, 215}));
  EXPECT_EQ(split(timer, {{{10, 120, 180}, {190, 270, 280}}}), (Lateness{0, 0, 265}))
      << "what the driver did before it knew";
  timer.armed = 500;  // after the fire: another arming of the same instant
  EXPECT_EQ(split(timer, {{{110, 340, 350}}}), (Lateness{0, 0, 265}));
}

TEST(LatenessTest, ALateArmingHasItsGranuleAlready) {
  Expiry timer = expiry(100, 365);
  timer.due = 150;
  timer.armed = 300;
  EXPECT_EQ(split(timer, {{{110, 900, 350}}}), (Lateness{50, 50, 165}));
}

TEST(LatenessTest, EachThreadHasItsOwnWaits) {
  // Shards: the other's ends earlier, and is none of this timer's business.
  const Waits shards = {{{10, 100, 160}}, {{20, 110, 120}, {125, 900, 950}}};
  EXPECT_EQ(split(expiry(100, 165), shards), (Lateness{0, 60, 5}));
  // An old leader that sleeps beyond, and the new one.
  const Waits leaders = {{{50, 100, 160}}, {{10, 155, 158}}};
  EXPECT_EQ(split(expiry(100, 165), leaders), (Lateness{0, 60, 5}));
  // Awake while the other shard slept.
  EXPECT_EQ(split(expiry(170, 900), shards), (Lateness{0, 0, 730}));
}

TEST(LatenessTest, WhatIsHandedOverHasTheWaitOfWhoeverNoticedIt) {
  Expiry timer = expiry(100, 300);
  const Waits waits = {{{0, kNever, 190}, {250, kNever, 290}}, {{10, 120, 160}, {170, 800, 850}}};
  EXPECT_EQ(split(timer, waits), (Lateness{20, 40, 140})) << "an executor's thread";
  timer.alarm = WatchedClock::kNoAlarm;
  EXPECT_EQ(split(timer, waits), (Lateness{20, 40, 140})) << "a thread that never waits";
  timer.fired = 150;
  EXPECT_EQ(split(timer, waits), (Lateness{0, 0, 50})) << "not that wait: it had not ended";
}

TEST(LatenessTest, OfSeveralThatMayHaveNoticedItTheFirstToEnd) {
  Expiry timer = expiry(100, 300);
  timer.alarm = 2;
  const Waits waits = {{{10, 150, 220}}, {{20, 130, 180}, {182, 190, 195}}, {{0, kNever, 200}}};
  EXPECT_EQ(split(timer, waits), (Lateness{30, 50, 120}));
  // An executor that is busy while the driver, awake at the deadline, sleeps again.
  EXPECT_EQ(split(timer, {{{0, 90, 95}, {110, 200, 220}}, {}, {{0, kNever, 80}}}),
            (Lateness{0, 0, 200}));
}

TEST(LatenessTest, AFollowerBecomesLeader) {
  // Rung at 40, it waits for the deadline itself.
  EXPECT_EQ(split(expiry(100, 165), {{{0, kNever, 40}, {45, 100, 160}}, {{10, 158, 159}}}),
            (Lateness{0, 60, 5}));
}

}  // namespace
}  // namespace timerbench
