// The checks bite: each deliberately broken queue is caught, and the sound ones they are made from
// pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broken_queues.h"
#include "print_backend.h"
#include "replay/make_backend.h"
#include "system/cpu_time.h"
#include "verify/audited_queue.h"
#include "verify/check.h"
#include "verify/contract.h"
#include "verify/differential.h"

namespace timerbench {
namespace {

using std::chrono::seconds;

std::optional<std::string> broken_rule(const Backend& backend) {
  try {
    for (const ContractScenario& scenario : contract()) scenario.run(backend);
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

// Processor time, as other tests run beside this one.
TEST_P(BrokenTest, IsCaughtByTheContractWithinTenSeconds) {
  const double start = cpu_seconds();
  EXPECT_TRUE(broken_rule(GetParam()).has_value());
  EXPECT_LT(cpu_seconds() - start, 10);
}

INSTANTIATE_TEST_SUITE_P(Bugs, BrokenTest,
                         testing::ValuesIn(backends_of(static_cast<BrokenQueues*>(nullptr))),
                         name_of);

class BrokenOnRandomTracesTest : public testing::TestWithParam<Backend> {};

// It takes two seconds at most, and beside other tests on a busy machine many more.
TEST_P(BrokenOnRandomTracesTest, IsCaughtAndShrunk) {
  const auto found = counterexample(GetParam(), seconds(300));
  ASSERT_TRUE(found.has_value());
  EXPECT_LE(found->ops.size(), 20U) << found->violation.text;
}

INSTANTIATE_TEST_SUITE_P(Bugs, BrokenOnRandomTracesTest,
                         testing::ValuesIn(backends_of(static_cast<BrokenOnTraces*>(nullptr))),
                         name_of);

// The rule that the queue breaks with these licences alone, such as "rule 2".
template <class Queue>
std::string broken_rule_of(bool walks_ticks, bool guesses_wakeup) {
  Backend backend = make_backend<Queue>();
  backend.traits.walks_ticks = walks_ticks;
  backend.traits.guesses_wakeup = guesses_wakeup;
  return broken_rule(backend).value_or("none").substr(0, 6);
}

TEST(LicenceTest, IsNeeded) {
  EXPECT_EQ(broken_rule_of<TickWalker>(false, true), "rule 8");
  EXPECT_EQ(broken_rule_of<Guesser>(true, false), "rule 9");
}

TEST(LicenceTest, ExcusesNothingElse) {
  EXPECT_EQ(broken_rule_of<BrokenWheel<Bug::early_on_long_delays>>(true, true), "rule 1");
  EXPECT_EQ(broken_rule_of<BrokenWheel<Bug::lost_in_cascade>>(true, true), "rule 2");
  EXPECT_EQ(broken_rule_of<BrokenRing<Bug::double_fire_after_move>>(true, true), "rule 3");
  EXPECT_EQ(broken_rule_of<BrokenRing<Bug::cancel_true_twice>>(true, true), "rule 4");
  EXPECT_EQ(broken_rule_of<BrokenRing<Bug::falsely_ordered>>(true, true), "rule 6");
  EXPECT_EQ(broken_rule_of<BrokenHeap<Bug::deadline_in_32_bits>>(true, true), "rule 9");
  EXPECT_EQ(broken_rule_of<BrokenRing<Bug::time_runs_backwards>>(true, true), "rule 8");
  EXPECT_EQ(broken_rule_of<BrokenWheel<Bug::wakeup_while_empty>>(true, true), "rule 9");
  EXPECT_EQ(broken_rule_of<BrokenHeap<Bug::stale_next_wakeup>>(true, true), "rule 9");
  EXPECT_EQ(broken_rule_of<BrokenHeap<Bug::next_wakeup_walks>>(true, true), "rule 9");
}

TEST(LicenceTest, IsToldInWords) {
  EXPECT_EQ(licence(BrokenHeap<Bug::none>::traits), "");
  EXPECT_EQ(licence(TickWalker::traits), "advance() walks every tick");
  EXPECT_EQ(licence(Guesser::traits), "next_wakeup() guesses");
  Traits both = TickWalker::traits;
  both.guesses_wakeup = true;
  EXPECT_EQ(licence(both), "advance() walks every tick, and next_wakeup() guesses");
}

// A queue that is too late tells so by next_wakeup() too, but what is wrong is its lateness.
TEST(BrokenRelativeTest, IsNamedForItsLatenessOrForItsWakeup) {
  const auto found = [](const Backend& backend) {
    const auto by_trace = counterexample(backend, seconds(10));
    return broken_rule(backend).value_or("none") + by_trace.value().violation.text;
  };
  const std::string late = found(make_backend<LateByAPart<1>>());
  EXPECT_NE(late.find("rule 2"), std::string::npos) << late;
  EXPECT_EQ(late.find("rule 9"), std::string::npos) << late;
  const std::string stuck = found(make_backend<RelativeWakeupStuck>());
  EXPECT_NE(stuck.find("rule 9"), std::string::npos) << stuck;
  EXPECT_EQ(stuck.find("rule 2"), std::string::npos) << stuck;
}

// A trace is replayed as the conditions say.
TEST(FindViolationTest, KeepsToTheConditions) {
  const StopFlag never = false;
  const auto violation = [&](const Backend& backend, const Conditions& conditions) {
    const Trace trace({.capacity = 2},
                      {schedule_op(0, 22), schedule_op(1, 21), advance_op(20), advance_op(10)});
    const auto found = find_violation(backend, trace, conditions, never);
    return found ? found->text : "";
  };
  const auto in_53_bits = make_backend<BrokenHeap<Bug::deadline_in_53_bits>>();
  EXPECT_EQ(violation(in_53_bits, {}), "");
  EXPECT_NE(violation(in_53_bits, {.start = Tick{1} << 53}), "");
  const auto early = make_backend<BrokenWheel<Bug::early_by_a_granule>>();
  EXPECT_EQ(violation(early, {}), "");
  EXPECT_NE(violation(early, {.granularity = 10}), "");
  const auto stuck = make_backend<BrokenHeap<Bug::next_wakeup_stuck>>();
  EXPECT_EQ(violation(stuck, {}), "");
  EXPECT_NE(violation(stuck, {.driver = AuditedQueue::Driver::sleeping}), "");
}

TEST(DifferentialTest, AnotherSeedTriesOtherTraces) {
  const auto backend = make_backend<BrokenHeap<Bug::none>>();
  const StopFlag never = false;
  const auto fired = [&](std::uint64_t seed) {
    return test_differentially(backend, seed, seconds(0), never).fired;
  };
  EXPECT_EQ(fired(1), fired(1));
  EXPECT_TRUE(fired(1) != fired(2) || fired(1) != fired(3));
}

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
