// Every rule of the contract, for every backend of the roster.
#include "verify/contract.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <tuple>

#include "print_backend.h"
#include "replay/backend.h"
#include "system/stop.h"
#include "verify/differential.h"

namespace timerbench {
namespace {

std::vector<Backend> contenders() {
  std::vector<Backend> result;
  for (const Backend& backend : backends()) {
    if (!backend.is_control()) result.push_back(backend);
  }
  return result;
}

class ContractTest : public testing::TestWithParam<std::tuple<Backend, ContractScenario>> {};

TEST_P(ContractTest, Holds) {
  const auto& [backend, scenario] = GetParam();
  EXPECT_NO_THROW(scenario.run(backend));
}

INSTANTIATE_TEST_SUITE_P(Roster, ContractTest,
                         testing::Combine(testing::ValuesIn(contenders()),
                                          testing::ValuesIn(contract().begin(), contract().end())),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).traits.name) + "_" +
                                  std::string(std::get<1>(info.param).name);
                         });

class DifferentialTest : public testing::TestWithParam<Backend> {};

TEST_P(DifferentialTest, AgreesWithTheModelOnRandomTraces) {
  const StopFlag never = false;
  const auto result =
      test_differentially(GetParam(), /*seed=*/1, std::chrono::milliseconds(500), never);
  EXPECT_GT(result.fired, 0U);
  EXPECT_FALSE(result.counterexample.has_value())
      << result.counterexample->violation.text << '\n'
      << to_text(*result.counterexample, GetParam().traits.name, "timerbench");
}

INSTANTIATE_TEST_SUITE_P(Roster, DifferentialTest, testing::ValuesIn(contenders()),
                         [](const auto& info) { return std::string(info.param.traits.name); });

}  // namespace
}  // namespace timerbench
