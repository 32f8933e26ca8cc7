// The distribution in which lateness is kept, and calls of which some are timed.
#include "replay/durations.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "realtime/sampled_calls.h"

namespace timerbench {
namespace {

TEST(DurationsTest, AQuantileIsOffByNoMoreThanABucket) {
  Durations durations;
  for (int i = 1; i <= 100'000; ++i) durations.add(i * 37.0);
  for (const double q : {0.001, 0.5, 0.9, 0.99, 0.999}) {
    EXPECT_NEAR(durations.quantile(q).value() / (q * 3.7e6), 1, 0.025) << q;
  }
  EXPECT_EQ(durations.max(), 3.7e6);
  EXPECT_NEAR(durations.mean(), 1.85e6, 100);
}

TEST(DurationsTest, AQuantileNeedsTenBeyondIt) {
  Durations durations;
  for (int i = 0; i < 99; ++i) durations.add(5);
  EXPECT_TRUE(durations.quantile(0.5));
  EXPECT_FALSE(durations.quantile(0.9));
  durations.add(5);
  EXPECT_TRUE(durations.quantile(0.9));
  EXPECT_FALSE(durations.quantile(0.99));
  EXPECT_FALSE(Durations().quantile(0.5));
}

TEST(DurationsTest, TakesNothingAndMoreThanItsRange) {
  Durations durations;
  for (int i = 0; i < 20; ++i) durations.add(0);
  EXPECT_EQ(durations.quantile(0.5), 0.0);
  for (int i = 0; i < 80; ++i) durations.add(3e12);
  EXPECT_GE(durations.quantile(0.5).value(), 1e12);
  EXPECT_LE(durations.quantile(0.5).value(), 3e12);
  EXPECT_EQ(durations.max(), 3e12);
}

TEST(DurationsTest, Adds) {
  Durations a;
  Durations b;
  for (int i = 0; i < 50; ++i) a.add(10);
  for (int i = 0; i < 50; ++i) b.add(1000);
  a += b;
  EXPECT_EQ(a.count(), 100U);
  EXPECT_EQ(a.max(), 1000);
  EXPECT_EQ(a.mean(), 505);
  EXPECT_NEAR(a.quantile(0.25).value(), 10, 0.25);
  EXPECT_NEAR(a.quantile(0.75).value(), 1000, 25);
  Durations less;
  for (int i = 0; i < 100; ++i) less.add(5);
  a += less;
  EXPECT_EQ(a.max(), 1000);
  EXPECT_EQ(a.mean(), 255);
}

TEST(DurationsTest, JsonHoldsEveryDurationOnce) {
  Durations durations;
  for (const double ns : {0.0, 1.5, 7.0, 2000.0, 5e12}) durations.add(ns);
  const auto json = durations.to_json();
  EXPECT_EQ(json["count"], 5);
  EXPECT_EQ(json["max"], 5e12);
  EXPECT_EQ(json["mean"], durations.mean());
  EXPECT_EQ(json["edges"].size(), json["counts"].size() + 1);
  std::uint64_t sum = 0;
  for (const std::uint64_t count : json["counts"]) sum += count;
  EXPECT_EQ(sum, 5U);
  EXPECT_EQ(json["edges"].front(), 0.0);
  EXPECT_EQ(json["edges"].back(), 5e12);
  EXPECT_EQ(Durations().to_json()["counts"].size(), 0U);
}

TEST(SampledCallsTest, NoPlaceInABatchIsMissed) {
  constexpr int kBatches = 4'000;
  std::array<int, 32> timed{};
  SampledCalls sampled(/*mean_gap=*/32, /*seed=*/1);
  for (int batch = 0; batch < kBatches; ++batch) {
    for (int& place : timed) {
      const std::uint64_t before = sampled.durations().count();
      sampled([] {});
      place += static_cast<int>(sampled.durations().count() - before);
    }
  }
  for (const int count : timed) EXPECT_NEAR(count, kBatches / 32, kBatches / 64);
  EXPECT_NEAR(static_cast<double>(sampled.durations().count()), kBatches, kBatches / 20);
}

TEST(SampledCallsTest, EveryCallCanBeTimed) {
  SampledCalls sampled(/*mean_gap=*/1, /*seed=*/1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sampled([i] { return i; }), i);
  EXPECT_EQ(sampled.durations().count(), 100U);
}

}  // namespace
}  // namespace timerbench
