// A header given with TIMERBENCH_EXTRA_BACKENDS is a backend like those of the roster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

#include "replay/backend.h"
#include "verify/contract.h"
#include "verify/differential.h"

namespace timerbench {

// Made by CMake, of sorted_list.h, list_in_windows.h, and the example of docs/peers.md.
Backend make_sorted_list();
Backend make_list_in_windows();
Backend make_my_tw();

namespace {

void expect_verified(const Backend& backend) {
  for (const ContractScenario& scenario : contract()) {
    EXPECT_NO_THROW(scenario.run(backend)) << scenario.name;
  }
  const StopFlag never = false;
  const auto result = test_differentially(backend, 1, std::chrono::milliseconds(200), never);
  EXPECT_GT(result.fired, 0U);
  EXPECT_FALSE(result.counterexample.has_value()) << result.counterexample->violation.text;
}

TEST(ExtraBackendTest, IsFoundByTheNameOfItsHeaderAndVerified) {
  expect_verified(make_sorted_list());
}

TEST(ExtraBackendTest, ALibraryWhoseClockEndsKeepsTheContractWithAFarStore) {
  expect_verified(make_list_in_windows());
}

TEST(ExtraBackendTest, ALibraryStaysOneWhateverItPromises) {
  Traits traits = make_list_in_windows().traits;
  EXPECT_EQ(ranking(traits), "exact library");
  traits.precision = Precision::early;
  EXPECT_EQ(ranking(traits), "early library");
}

TEST(ExtraBackendTest, TheExampleOfTheDocumentsKeepsTheContractWithItsLicences) {
  Backend backend = make_my_tw();
  expect_verified(backend);
  EXPECT_EQ(licence(backend.traits), "advance() walks every tick, and next_wakeup() guesses");
  backend.traits.walks_ticks = backend.traits.guesses_wakeup = false;
  EXPECT_ANY_THROW(
      std::ranges::for_each(contract(), [&](const auto& scenario) { scenario.run(backend); }));
}

TEST(ExtraBackendTest, TwoBackendsOfOneNameAreRefused) {
  const Backend one = make_sorted_list();
  Backend other = make_list_in_windows();
  EXPECT_NO_THROW(check_names(std::array{one, other}));
  other.traits.name = one.traits.name;
  try {
    check_names(std::array{one, other});
    FAIL();
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(),
                testing::MatchesRegex("two backends are called 'sorted_list', in .*/sorted_list.h "
                                      "and .*/list_in_windows.h; give one of them another name"));
  }
}

}  // namespace
}  // namespace timerbench
