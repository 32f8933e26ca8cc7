// The checks bite: each deliberately broken queue is caught, and the sound ones they are made from pass.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "broken_queues.h"
#include "print_backend.h"
#include "replay/make_backend.h"
#include "verify/audited_queue.h"
#include "verify/contract.h"
#include "verify/differential.h"

namespace timerbench {
namespace {

using std::chrono::seconds;

std::optional<std::string> broken_rule(const Backend& backend) {
  try {
    for (const Scenario& scenario : contract()) scenario.run(backend);
  } catch (const ContractViolation& violation) {
    return violation.what();
  }
  return std::nullopt;
}

std::optional<Counterexample> counterexample(const Backend& backend, seconds limit) {
  const StopFlag never = false;
  return test_differentially(backend, /*seed=*/1, limit, never).counterexample;
}

template <class... Queues>
std::vector<Backend> backends_of(std::tuple<Queues...>*) {
  return {make_backend<Queues>()...};
}

std::string name_of(const testing::TestParamInfo<Backend>& info) {
  return std::string(info.param.traits.name);
}

class BrokenTest : public testing::TestWithParam<Backend> {};

TEST_P(BrokenTest, IsCaughtByTheContractWithinTenSeconds) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(broken_rule(GetParam()).has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
}

INSTANTIATE_TEST_SUITE_P(Bugs, BrokenTest,
                         testing::ValuesIn(backends_of(static_cast<BrokenQueues*>(nullptr))),
                         name_of);

class BrokenOnRandomTracesTest : public testing::TestWithParam<Backend> {};

TEST_P(BrokenOnRandomTracesTest, IsCaughtWithinTenSecondsAndShrunk) {
  const auto found = counterexample(GetParam(), seconds(10));
  ASSERT_TRUE(found.has_value());
  EXPECT_LE(found->ops.size(), 20U) << found->violation;
}

INSTANTIATE_TEST_SUITE_P(Bugs, BrokenOnRandomTracesTest,
                         testing::ValuesIn(backends_of(static_cast<BrokenOnTraces*>(nullptr))),
                         name_of);

class SoundTest : public testing::TestWithParam<Backend> {};

TEST_P(SoundTest, Passes) {
  EXPECT_EQ(broken_rule(GetParam()), std::nullopt);
  EXPECT_FALSE(counterexample(GetParam(), seconds(1)).has_value());
}

INSTANTIATE_TEST_SUITE_P(Bases, SoundTest,
                         testing::ValuesIn(backends_of(static_cast<SoundQueues*>(nullptr))),
                         name_of);

}  // namespace
}  // namespace timerbench
