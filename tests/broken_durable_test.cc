// Durable queues that break one rule each: the scenarios, or random calls, must find them.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "durable/durable_load.h"
#include "durable/engine.h"
#include "scratch.h"
#include "system/stop.h"
#include "verify/durable_contract.h"
#include "verify/durable_differential.h"
#include "verify/violation.h"
#include "wrapped_durable.h"

namespace timerbench {
namespace {

struct LosesTheLastOfMany : Wrapped {
  using Wrapped::Wrapped;
  void schedule(std::span<const DurableTimer> timers) override {
    queue_->schedule(timers.size() > 1 ? timers.first(timers.size() - 1) : timers);
  }
};

struct KeepsTheFirstPayload : Wrapped {
  using Wrapped::Wrapped;
  void schedule(std::span<const DurableTimer> timers) override {
    for (DurableTimer timer : timers) {
      timer.payload = payloads_.try_emplace(timer.id, timer.payload).first->second;
      queue_->schedule({&timer, 1});
    }
  }
  std::map<DurableId, std::string> payloads_;
};

struct IgnoresMost : Wrapped {
  using Wrapped::Wrapped;
  Claims claim(std::size_t, Tick lease) override { return queue_->claim(1000, lease); }
};

struct LeasesForHalfTheTime : Wrapped {
  using Wrapped::Wrapped;
  Claims claim(std::size_t most, Tick lease) override {
    return queue_->claim(most, (lease + 1) / 2);
  }
};

struct SaysTooLateWhatIsNext : Wrapped {
  using Wrapped::Wrapped;
  Claims claim(std::size_t most, Tick lease) override {
    Claims claims = queue_->claim(most, lease);
    if (claims.next_wakeup != kNever) claims.next_wakeup += 1'000'000;
    return claims;
  }
};

struct CancelsWhateverIsAsked : Wrapped {
  using Wrapped::Wrapped;
  bool cancel(DurableId id) override {
    queue_->cancel(id);
    return true;
  }
};

struct GivesNothingBack : Wrapped {
  using Wrapped::Wrapped;
  void give_back(std::span<const ClaimedTimer>) override {}
};

// The scenarios that find it broken.
std::vector<std::string> broken_scenarios(const DurableContender& contender) {
  const Scratch folder;
  const auto engine = contender.start(folder.path());
  std::vector<std::string> broken;
  for (const DurableScenario& scenario : durable_contract()) {
    try {
      scenario.run(*engine, contender.traits);
    } catch (const ContractViolation&) {
      broken.emplace_back(scenario.name);
    }
  }
  return broken;
}

bool random_calls_find(const DurableContender& contender) {
  const Scratch folder;
  const auto engine = contender.start(folder.path());
  return compare_with_model(*engine, "random", /*seed=*/1, std::chrono::seconds(1), StopFlag(false))
      .difference.has_value();
}

TEST(BrokenDurableQueue, IsNotFoundIfItIsWhole) {
  EXPECT_EQ(broken_scenarios(contender<Wrapped>()), std::vector<std::string>());
}

TEST(BrokenDurableQueue, IsFoundByScenarios) {
  EXPECT_NE(broken_scenarios(contender<FiresEarly>()), std::vector<std::string>());
  EXPECT_NE(broken_scenarios(contender<LosesTheLastOfMany>()), std::vector<std::string>());
  EXPECT_NE(broken_scenarios(contender<KeepsTheFirstPayload>()), std::vector<std::string>());
  EXPECT_NE(broken_scenarios(contender<IgnoresMost>()), std::vector<std::string>());
  EXPECT_NE(broken_scenarios(contender<LeasesForHalfTheTime>()), std::vector<std::string>());
  EXPECT_NE(broken_scenarios(contender<SaysTooLateWhatIsNext>()), std::vector<std::string>());
  EXPECT_NE(broken_scenarios(contender<SaysThatAllWereHeld>()), std::vector<std::string>());
  EXPECT_NE(broken_scenarios(contender<CompletesNothing>()), std::vector<std::string>());
  EXPECT_NE(broken_scenarios(contender<CancelsWhateverIsAsked>()), std::vector<std::string>());
  EXPECT_NE(broken_scenarios(contender<GivesNothingBack>()), std::vector<std::string>());
}

TEST(BrokenDurableQueue, IsFoundByRandomCalls) {
  EXPECT_FALSE(random_calls_find(contender<Wrapped>()));
  EXPECT_TRUE(random_calls_find(contender<FiresEarly>()));
  EXPECT_TRUE(random_calls_find(contender<LeasesForHalfTheTime>()));
  EXPECT_TRUE(random_calls_find(contender<SaysThatAllWereHeld>()));
  EXPECT_TRUE(random_calls_find(contender<CompletesNothing>()));
  EXPECT_TRUE(random_calls_find(contender<GivesNothingBack>()));
}

// --- The loads audit what they count ---

TEST(DurableLoadTest, CountsWhatAWholeQueueDoes) {
  const DurableLoad load{.clients = 2, .batch = 10, .pending = 100, .seconds = 0.1};
  const DurableFigures churned = measure_churn(load, contender<Wrapped>(), StopFlag(false));
  EXPECT_EQ(churned.failure, "");
  EXPECT_GT(churned.timers, 0U);
  EXPECT_EQ(churned.second.count(), churned.timers);
  const DurableFigures fired = measure_fire(load, 500, contender<Wrapped>(), StopFlag(false));
  EXPECT_EQ(fired.failure, "");
  EXPECT_EQ(fired.timers, 500U);
  const DurableFigures late = measure_late(load, 100, contender<Wrapped>(), StopFlag(false));
  EXPECT_EQ(late.failure, "");
  EXPECT_FALSE(late.saturated);
  EXPECT_EQ(late.lateness.count(), 10U);
}

TEST(DurableLoadTest, HasNoFiguresForABrokenQueue) {
  const DurableLoad load{.clients = 1, .batch = 10, .pending = 100, .seconds = 0.1};
  EXPECT_NE(measure_fire(load, 500, contender<CompletesNothing>(), StopFlag(false)).failure, "");
  EXPECT_NE(measure_churn(load, contender<LosesTheLastOfMany>(), StopFlag(false)).failure, "");
  EXPECT_NE(measure_late(load, 100, contender<FiresEarly>(), StopFlag(false)).failure, "");
}

}  // namespace
}  // namespace timerbench
