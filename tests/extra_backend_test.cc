// A header given with TIMERBENCH_EXTRA_BACKENDS is a backend like those of the roster.
#include <gtest/gtest.h>

#include <chrono>
#include <type_traits>

#include "extra_backends.h"  // made by CMake of sorted_list.h
#include "replay/make_backend.h"
#include "verify/contract.h"
#include "verify/differential.h"

namespace timerbench {
namespace {

static_assert(std::is_same_v<ExtraBackends, TypeList<SortedList>>);

TEST(ExtraBackendTest, IsFoundByTheNameOfItsHeaderAndVerified) {
  const Backend backend = make_backend<SortedList>();
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
