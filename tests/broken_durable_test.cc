// Durable queues that break one rule each: the scenarios, or random calls, must find them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "durable/engine.h"
#include "scratch.h"
#include "system/stop.h"
#include "verify/durable_audit.h"
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

struct ForgetsTheFirstCompletion : Wrapped {
  using Wrapped::Wrapped;
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override {
    for (const ClaimedTimer& claim : claims) {
      if (!completed_.insert(claim.timer.id).second) queue_->complete({&claim, 1});
    }
    return std::vector<bool>(claims.size(), true);
  }
  std::set<DurableId> completed_;
};

// As an engine would that has one lease for all claims of a call, and counts badly how many are left.
struct LetsGoOfAllWhenOneIsCompletedAgain : Wrapped {
  using Wrapped::Wrapped;
  Claims claim(std::size_t most, Tick lease) override {
    Claims claims = queue_->claim(most, lease);
    claimed_ = claims.timers;
    return claims;
  }
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override {
    const std::vector<bool> held = queue_->complete(claims);
    if (!std::ranges::all_of(held, std::identity{})) queue_->give_back(claimed_);
    return held;
  }
  std::vector<ClaimedTimer> claimed_;
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

struct SleepsInstead : Wrapped {
  using Wrapped::Wrapped;
  bool await_earlier(Tick, std::chrono::nanoseconds longest) override {
    std::this_thread::sleep_for(longest);
    return false;
  }
};

struct WakesInVain : Wrapped {
  using Wrapped::Wrapped;
  bool await_earlier(Tick, std::chrono::nanoseconds) override { return true; }
};

struct MissesWhatCameBefore : Wrapped {
  using Wrapped::Wrapped;
  bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) override {
    if (!queue_->await_earlier(next_wakeup, std::chrono::nanoseconds(0))) {
      return queue_->await_earlier(next_wakeup, longest);
    }
    std::this_thread::sleep_for(longest);
    return false;
  }
};

// As an engine would that wakes those who wait only when something is armed.
struct SleepsWhenSomethingIsGivenBack : Wrapped {
  using Wrapped::Wrapped;
  bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) override {
    if (has_given_back_) std::this_thread::sleep_for(longest);
    return !has_given_back_ && queue_->await_earlier(next_wakeup, longest);
  }
  void give_back(std::span<const ClaimedTimer> claims) override {
    has_given_back_ = true;
    queue_->give_back(claims);
  }
  inline static std::atomic<bool> has_given_back_ = false;
};

struct DropsWhatIsPosted : Wrapped {
  using Wrapped::Wrapped;
  void post(std::span<const DurableTimer>) override {}
};

// So that no call of this client finds it in time.
struct PostsOneLater : Wrapped {
  using Wrapped::Wrapped;
  ~PostsOneLater() override { queue_->post(kept_); }
  void post(std::span<const DurableTimer> timers) override {
    queue_->post(kept_);
    kept_.assign(timers.begin(), timers.end());
  }
  std::vector<DurableTimer> kept_;
};

struct DropsWhatItHasPostedWhenDestroyed : Wrapped {
  using Wrapped::Wrapped;
  void post(std::span<const DurableTimer> timers) override {
    posted_.insert(posted_.end(), timers.begin(), timers.end());
  }
  void schedule(std::span<const DurableTimer> timers) override {
    send();
    queue_->schedule(timers);
  }
  bool cancel(DurableId id) override {
    send();
    return queue_->cancel(id);
  }
  Claims claim(std::size_t most, Tick lease) override {
    send();
    return queue_->claim(most, lease);
  }
  std::size_t size() override {
    send();
    return queue_->size();
  }
  void send() { queue_->post(std::exchange(posted_, {})); }
  std::vector<DurableTimer> posted_;
};

// Asks a server that does not answer once more.
struct HasMorePatience : Wrapped {
  using Wrapped::Wrapped;
  std::size_t size() override {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(3);
    for (;;) {
      try {
        return queue_->size();
      } catch (const BackendError&) {
        if (std::chrono::steady_clock::now() >= give_up) throw;
      }
    }
  }
};

struct KeepsFailuresToItself : Wrapped {
  using Wrapped::Wrapped;
  void schedule(std::span<const DurableTimer> timers) override {
    try {
      queue_->schedule(timers);
    } catch (const BackendError&) {
    }
  }
};

struct NeverConnectsAgain : Wrapped {
  using Wrapped::Wrapped;
  std::size_t size() override {
    if (has_failed_) throw BackendError("it was lost");
    try {
      return queue_->size();
    } catch (const BackendError&) {
      has_failed_ = true;
      throw;
    }
  }
  bool has_failed_ = false;
};

constexpr std::string_view kOfProcesses = "redis_memory";

// The scenarios that find it broken.
std::vector<std::string> broken_scenarios(const DurableContender& contender) {
  const Scratch folder;
  const auto engine = contender.start(folder.path());
  std::vector<std::string> broken;
  for (const DurableScenario& scenario : durable_contract()) {
    if (!scenario.left_out(*engine, contender.traits).empty()) continue;
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

TEST(BrokenDurableQueue, IsFoundByTheScenarioOfCompletingAgain) {
  EXPECT_THAT(broken_scenarios(contender<LetsGoOfAllWhenOneIsCompletedAgain>()),
              ::testing::ElementsAre("rule_3_again"));
}

TEST(BrokenDurableQueue, IsFoundByScenariosOfWaiting) {
  const auto finds = ::testing::Contains("rule_7_waiting");
  EXPECT_THAT(broken_scenarios(contender<SleepsInstead>()), finds);
  EXPECT_THAT(broken_scenarios(contender<WakesInVain>()), finds);
  EXPECT_THAT(broken_scenarios(contender<MissesWhatCameBefore>()), finds);
  EXPECT_THAT(broken_scenarios(contender<SleepsWhenSomethingIsGivenBack>()), finds);
}

TEST(BrokenDurableQueue, IsFoundByTheScenarioOfPatience) {
  const std::vector<std::string> patience{"rule_6_patience"};
  EXPECT_EQ(broken_scenarios(contender<Wrapped>(kOfProcesses)), std::vector<std::string>());
  EXPECT_EQ(broken_scenarios(contender<HasMorePatience>(kOfProcesses)), patience);
  EXPECT_EQ(broken_scenarios(contender<KeepsFailuresToItself>(kOfProcesses)), patience);
  EXPECT_EQ(broken_scenarios(contender<NeverConnectsAgain>(kOfProcesses)), patience);
}

TEST(BrokenDurableQueue, IsFoundByScenariosOfPosting) {
  using ::testing::IsSupersetOf;
  EXPECT_THAT(broken_scenarios(contender<DropsWhatIsPosted>()),
              IsSupersetOf({"rule_7_posted", "rule_8_posting", "rule_8_many", "rule_8_clients"}));
  EXPECT_THAT(broken_scenarios(contender<PostsOneLater>()),
              IsSupersetOf({"rule_7_posted", "rule_8_posting", "rule_8_many"}));
  EXPECT_THAT(broken_scenarios(contender<DropsWhatItHasPostedWhenDestroyed>()),
              IsSupersetOf({"rule_7_posted", "rule_8_clients"}));
}

TEST(BrokenDurableQueue, IsFoundByRandomCalls) {
  EXPECT_FALSE(random_calls_find(contender<Wrapped>()));
  EXPECT_TRUE(random_calls_find(contender<FiresEarly>()));
  EXPECT_TRUE(random_calls_find(contender<LeasesForHalfTheTime>()));
  EXPECT_TRUE(random_calls_find(contender<SaysThatAllWereHeld>()));
  EXPECT_TRUE(random_calls_find(contender<CompletesNothing>()));
  EXPECT_TRUE(random_calls_find(contender<GivesNothingBack>()));
  EXPECT_TRUE(random_calls_find(contender<DropsWhatIsPosted>()));
}

// What an audit says of it, if anything.
std::string audit(std::string_view name, const DurableContender& contender) {
  const Scratch folder;
  const auto engine = contender.start(folder.path());
  for (const DurableAudit& audit : durable_audits()) {
    if (audit.name == name) return audit.run(*engine, contender.traits, "audit").value_or("");
  }
  throw std::logic_error(std::string(name));
}

TEST(BrokenDurableQueue, IsFoundByAudits) {
  EXPECT_EQ(audit("killed_at_most_once", contender<Wrapped>(kOfProcesses)), "");
  EXPECT_NE(audit("killed_at_most_once", contender<ForgetsTheFirstCompletion>(kOfProcesses)), "");
  EXPECT_NE(audit("many_processes", contender<ForgetsTheFirstCompletion>(kOfProcesses)), "");
}

TEST(BrokenDurableQueue, IsFoundWhenItsEngineIsKilled) {
  DurableContender forgets_all = contender<Wrapped>("redis_memory");
  EXPECT_EQ(audit("killed_engine", forgets_all), "");  // it promises nothing
  for (const Kept promised : {Kept::all, Kept::but_the_latest}) {
    forgets_all.traits.promise.when_killed = promised;
    forgets_all.traits.promise.latest = 100'000'000;
    EXPECT_THAT(audit("killed_engine", forgets_all), ::testing::HasSubstr("are gone"));
  }
}

}  // namespace
}  // namespace timerbench
