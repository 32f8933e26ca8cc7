// Distributions of delays: what they are said to be, the same on every machine.
#include "workloads/delays.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace timerbench {
namespace {

using namespace std::chrono_literals;

constexpr double kMs = 1e6;

std::vector<std::uint32_t> draws(const std::string& text, int count = 100'000, double unit = kMs) {
  DelaySampler sample(Delays(text), unit);
  Random random(1);
  std::vector<std::uint32_t> result;
  for (int i = 0; i < count; ++i) result.push_back(sample(random));
  return result;
}

double quantile(std::vector<std::uint32_t> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

double share_below(const std::vector<std::uint32_t>& values, std::uint32_t bound) {
  return static_cast<double>(std::ranges::count_if(values, [&](auto v) { return v < bound; })) /
         static_cast<double>(values.size());
}

TEST(DurationTest, ReadsAndWritesUnits) {
  EXPECT_EQ(parse_duration("30s"), 30s);
  EXPECT_EQ(parse_duration("1.5h"), 90min);
  EXPECT_EQ(parse_duration("20us"), 20us);
  EXPECT_EQ(parse_duration("90d"), 24h * 90);
  for (const char* text : {"1ns", "20us", "30303ms", "30s", "15min", "2h", "90d", "0s"}) {
    EXPECT_EQ(to_text(parse_duration(text)), text);
  }
  for (const char* text : {"", "30", "s", "30 s", "-1s", "1sec", "1e30s", "nans"}) {
    EXPECT_THROW(parse_duration(text), ParameterError) << text;
  }
}

TEST(DelaysTest, AreWrittenAsTheyAreRead) {
  EXPECT_EQ(Delays("  uniform  1ms 60s ").text(), "uniform 1ms 60s");
}

TEST(DelaysTest, WhatCannotBeUnderstoodIsRefused) {
  for (const char* text :
       {"", "often", "constant", "constant 1s 2s", "uniform 2s 1s", "constant 0s",
        "pareto 1ms 0 1s", "choice 1s 2s 0", "pareto 2s 1 1s", "pareto 1ms x 1s",
        "bimodal 1ms 1s 1.1", "lognormal 2s 1s", "rising 1ms 1s"}) {
    EXPECT_THROW(Delays{text}, ParameterError) << text;
  }
}

TEST(DelaysTest, FitTheTicksOfTheWorkload) {
  EXPECT_THROW(DelaySampler(Delays("uniform 1us 1s"), kMs), ParameterError);
  EXPECT_THROW(DelaySampler(Delays("uniform 1ms 60d"), kMs), ParameterError);
  EXPECT_NO_THROW(DelaySampler(Delays("uniform 1s 60d"), 1e9));
  EXPECT_EQ(draws("constant 30s", 1, 1e9).front(), 30U);
}

TEST(DelaysTest, UniformIsFlatWithBothEnds) {
  std::map<std::uint32_t, int> counts;
  for (const std::uint32_t delay : draws("uniform 3ms 7ms")) ++counts[delay];
  ASSERT_EQ(counts.size(), 5U);
  EXPECT_EQ(counts.begin()->first, 3U);
  for (const auto& [delay, count] : counts) EXPECT_NEAR(count, 20'000, 600) << delay;
}

TEST(DelaysTest, TriangularRises) {
  const auto values = draws("triangular 1ms 1s");
  EXPECT_EQ(std::ranges::max(values), 1000U);
  EXPECT_NEAR(share_below(values, 501), 0.25, 0.01);
  EXPECT_NEAR(share_below(values, 751), 0.5625, 0.01);
}

TEST(DelaysTest, ChoiceHasSoManyEquallyLikely) {
  std::map<std::uint32_t, int> seen;
  for (const std::uint32_t value : draws("choice 1s 5s 5")) ++seen[value];
  ASSERT_EQ(seen.size(), 5U);
  for (const std::uint32_t value : {1000, 2000, 3000, 4000, 5000}) {
    EXPECT_NEAR(seen[value], 20'000, 1000) << value;
  }
  for (const char* text : {"choice 1s 5s 1", "choice 1ms 5ms 6"}) {
    EXPECT_THROW(draws(text), ParameterError) << text;
  }
}

TEST(DelaysTest, LognormalHasItsQuartiles) {
  const auto values = draws("lognormal 20s 60s");
  EXPECT_NEAR(quantile(values, 0.5), 20'000, 300);
  EXPECT_NEAR(quantile(values, 0.75), 60'000, 1'500);
  EXPECT_NEAR(quantile(values, 0.25), 20'000 / 3.0, 200);
  // Three standard deviations, as a normal exponent has them but for the sum's shorter tails.
  const double sigma = std::log(3) / 0.674490;
  EXPECT_NEAR(share_below(values, static_cast<std::uint32_t>(20'000 * std::exp(2 * sigma))), 0.977,
              0.003);
}

TEST(DelaysTest, ParetoHasItsTail) {
  const auto values = draws("pareto 10ms 1.2 1h");
  EXPECT_GE(std::ranges::min(values), 10U);
  EXPECT_EQ(std::ranges::max(draws("pareto 10ms 0.5 1min")), 60'000U);
  EXPECT_NEAR(1 - share_below(values, 100), std::pow(10, -1.2), 0.003);
  EXPECT_NEAR(1 - share_below(values, 1000), std::pow(100, -1.2), 0.001);
}

TEST(DelaysTest, ExponentialHasItsMeanAndIsAtLeastATick) {
  EXPECT_NEAR(DelaySampler(Delays("exponential 10s"), kMs).mean(), 10'000, 300);
  EXPECT_EQ(std::ranges::min(draws("exponential 2ms")), 1U);
}

TEST(DelaysTest, BimodalHasTwoModes) {
  const auto values = draws("bimodal 200ms 60s 0.9");
  EXPECT_NEAR(share_below(values, 221), 0.9, 0.005);
  EXPECT_NEAR(share_below(values, 54'000), 0.9, 0.005);
  EXPECT_EQ(share_below(values, 180), 0);
  EXPECT_EQ(share_below(values, 66'001), 1);
}

TEST(DelaysTest, LoguniformHasAsManyInEachOctave) {
  const auto values = draws("loguniform 1s 8766d", 100'000, 1e9);  // 24 years
  constexpr double kOctaves = 29.5;
  for (const std::uint32_t first : {4U, 1U << 10, 1U << 20, 1U << 28}) {
    const double share = share_below(values, 2 * first) - share_below(values, first);
    EXPECT_NEAR(share, 1 / kOctaves, 0.003) << first;
  }
  EXPECT_EQ(std::ranges::min(values), 1U);
  EXPECT_LE(std::ranges::max(values), 8766U * 86'400);
  EXPECT_GT(std::ranges::max(values), 8700U * 86'400);
}

TEST(DelaysTest, CamelHasTwoHumps) {
  const auto values = draws("camel 1ms 60001ms");
  EXPECT_NEAR(share_below(values, 18'002) - share_below(values, 12'000), 0.45 + 0.01, 0.01);
  EXPECT_NEAR(share_below(values, 48'002) - share_below(values, 42'000), 0.45 + 0.01, 0.01);
}

TEST(DelaysTest, RisingAndFallingAreInOrderAndBeginAgain) {
  EXPECT_EQ(draws("rising 1ms 5ms 2ms", 7), (std::vector<std::uint32_t>{1, 3, 5, 2, 4, 1, 3}));
  EXPECT_EQ(draws("falling 1ms 5ms 2ms", 4), (std::vector<std::uint32_t>{5, 3, 1, 4}));
}

TEST(DelaysTest, AreTheSameOnEveryMachine) {
  EXPECT_EQ(draws("lognormal 20ms 60ms", 5), (std::vector<std::uint32_t>{199, 7, 7, 201, 51}));
  EXPECT_EQ(draws("pareto 10ms 1.2 1h", 5), (std::vector<std::uint32_t>{16, 22, 20, 14, 14}));
  EXPECT_EQ(draws("camel 1ms 60s", 3), (std::vector<std::uint32_t>{47824, 16577, 43711}));
}

}  // namespace
}  // namespace timerbench
