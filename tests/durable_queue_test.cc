// The contract of durable timer queues, for each of them; and that the checks find what is broken.
#include "durable/durable_queue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "durable/engine.h"
#include "scratch.h"
#include "system/stop.h"
#include "verify/durable_audit.h"
#include "verify/durable_contract.h"
#include "verify/durable_differential.h"
#include "verify/violation.h"

namespace timerbench {
namespace {

const DurableContender& contender_named(std::string_view name) {
  for (const DurableContender& contender : durable_roster()) {
    if (contender.traits.name == name) return contender;
  }
  throw std::logic_error(std::string(name));
}

// An engine of each contender, started once.
class Engines : public ::testing::Environment {
 public:
  static DurableEngine& of(std::string_view name) {
    Started& started = all()[std::string(name)];
    if (!started.engine) started.engine = contender_named(name).start(started.folder.path());
    return *started.engine;
  }
  void TearDown() override { all().clear(); }

 private:
  struct Started {
    Scratch folder{};
    std::unique_ptr<DurableEngine> engine{};
  };
  static std::map<std::string, Started>& all() {
    static std::map<std::string, Started> engines;
    return engines;
  }
};

[[maybe_unused]] const auto* const kEngines =
    ::testing::AddGlobalTestEnvironment(new Engines);  // which gtest deletes

std::vector<std::string_view> names() {
  std::vector<std::string_view> names;
  for (const DurableContender& contender : durable_roster()) names.push_back(contender.traits.name);
  return names;
}

// --- Scenarios ---

using NameAndScenario = std::tuple<std::string_view, DurableScenario>;
using DurableContractTest = ::testing::TestWithParam<NameAndScenario>;

TEST_P(DurableContractTest, Holds) {
  const auto& [name, scenario] = GetParam();
  const DurableTraits& traits = contender_named(name).traits;
  DurableEngine& engine = Engines::of(name);
  if (const auto why = scenario.left_out(engine, traits); !why.empty()) GTEST_SKIP() << why;
  scenario.run(engine, traits);
}

std::vector<DurableScenario> scenarios() {
  return {durable_contract().begin(), durable_contract().end()};
}

INSTANTIATE_TEST_SUITE_P(All, DurableContractTest,
                         ::testing::Combine(::testing::ValuesIn(names()),
                                            ::testing::ValuesIn(scenarios())),
                         [](const auto& info) {
                           return fmt::format("{}_{}", std::get<0>(info.param),
                                              std::get<1>(info.param).name);
                         });

// --- Random calls, and processes ---

using DurableQueueTest = ::testing::TestWithParam<std::string_view>;

TEST_P(DurableQueueTest, DoesAsTheModelDoes) {
  const auto why = left_out_of_comparison(contender_named(GetParam()).traits);
  if (!why.empty()) GTEST_SKIP() << why;
  const DurableComparison comparison =
      compare_with_model(Engines::of(GetParam()), "random", /*seed=*/1,
                         std::chrono::duration<double>(0.5), StopFlag(false));
  EXPECT_GT(comparison.calls, 0U);
  if (comparison.difference) {
    ADD_FAILURE() << comparison.difference->what << "\n" << comparison.difference->calls;
  }
}

TEST_P(DurableQueueTest, PassesItsAudits) {
  const DurableTraits& traits = contender_named(GetParam()).traits;
  for (const DurableAudit& audit : durable_audits()) {
    DurableEngine& engine = Engines::of(GetParam());
    if (!audit.left_out(engine, traits).empty()) continue;
    const auto violation = audit.run(engine, traits, fmt::format("audit_{}", audit.name));
    EXPECT_EQ(violation.value_or(""), "") << audit.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DurableQueueTest, ::testing::ValuesIn(names()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace timerbench
