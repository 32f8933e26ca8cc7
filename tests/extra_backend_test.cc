// A header given with TIMERBENCH_EXTRA_BACKENDS is a backend like those of the roster.
#include <gtest/gtest.h>

#include <chrono>

#include "replay/backend.h"
#include "verify/contract.h"
#include "verify/differential.h"

namespace timerbench {

Backend make_sorted_list();  // made by CMake of sorted_list.h

namespace {

TEST(ExtraBackendTest, IsFoundByTheNameOfItsHeaderAndVerified) {
  const Backend backend = make_sorted_list();
  for (const ContractScenario& scenario : contract()) {
    EXPECT_NO_THROW(scenario.run(backend)) << scenario.name;
  }
  const StopFlag never = false;
  const auto result = test_differentially(backend, 1, std::chrono::milliseconds(200), never);
  EXPECT_GT(result.fired, 0U);
  EXPECT_FALSE(result.counterexample.has_value()) << result.counterexample->violation.text;
}

}  // namespace
}  // namespace timerbench
