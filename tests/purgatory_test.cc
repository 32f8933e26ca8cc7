// Operations that are completed by an event or expire, over several services.
#include "services/purgatory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "median_of_five.h"
#include "named_services.h"
#include "queues/dary_heap.h"
#include "services/clock.h"
#include "services/locked.h"

namespace timerbench {
namespace {

// A key that calls the test when it is hashed.
struct HookedKey {
  int number;
  std::function<void()> when_hashed = [] {};
  bool operator==(const HookedKey& other) const { return number == other.number; }
};

}  // namespace
}  // namespace timerbench

template <>
struct std::hash<timerbench::HookedKey> {
  std::size_t operator()(const timerbench::HookedKey& key) const {
    key.when_hashed();
    return 0;
  }
};

namespace timerbench {
namespace {

// Those that need no server.
std::vector<std::string_view> local(std::vector<std::string_view> names) {
  std::erase_if(names, [](std::string_view name) { return service_named(name).traits.remote; });
  return names;
}

// Completes when the test says that it can, and says what has happened to it.
class TestOperation : public DelayedOperation {
 public:
  explicit TestOperation(Tick deadline = kHour) : DelayedOperation(deadline) { ++alive; }
  ~TestOperation() override { --alive; }

  static inline std::atomic<int> alive = 0;

  std::atomic<bool> completable = false;
  std::atomic<int> tries = 0;
  std::atomic<int> completions = 0;
  std::atomic<int> expirations = 0;
  std::function<void()> when_tried = [] {};  // once it is known whether it can be completed
  std::function<void()> when_completed = [] {};
  std::function<void()> when_expired = [] {};

 private:
  virtual bool ready() const { return completable; }

  bool try_complete() final {
    const std::unique_lock lock(tried_, std::try_to_lock);
    EXPECT_TRUE(lock.owns_lock()) << "tried by two threads at a time";
    const bool can = ready();
    ++tries;
    when_tried();
    return can && force_complete();
  }

  void on_complete() override {
    ++completions;
    when_completed();
  }

  void on_expiration() override {
    EXPECT_EQ(completions, 1) << "on_complete() comes first";
    ++expirations;
    when_expired();
  }

  std::recursive_mutex tried_;
};

using Operations = std::vector<std::shared_ptr<DelayedOperation>>;

std::shared_ptr<TestOperation> make_operation(Tick deadline = kHour) {
  return std::make_shared<TestOperation>(deadline);
}

// A purgatory under a clock that the test sets.
class PurgatoryTest : public testing::TestWithParam<std::string_view> {
 protected:
  static constexpr TimerId kCapacity = 64;
  static constexpr std::size_t kPurgeInterval = 3;

  // The service's own view of time is that of the clock's granules.
  void advance_to(Tick instant) {
    clock_.settle();
    for (Tick now = clock_.now(); now < instant;) {
      now = std::min(instant, now + kMillisecond);
      clock_.set(now);
      clock_.settle();
    }
  }

  std::shared_ptr<TestOperation> watch(const std::vector<std::string>& keys,
                                       Tick deadline = kHour) {
    auto operation = make_operation(deadline);
    EXPECT_FALSE(purgatory_.try_complete_else_watch(operation, keys));
    return operation;
  }

  const ServiceBackend& backend_ = service_named(GetParam());
  ManualClock clock_;
  Purgatory<AnyService> purgatory_{
      {.capacity = kCapacity, .clock = clock_, .purge_interval = kPurgeInterval}, backend_.make};
};

INSTANTIATE_TEST_SUITE_P(Service, PurgatoryTest,
                         testing::ValuesIn(local(names_without_own_clock())), test_name);

TEST_P(PurgatoryTest, WhatCanBeCompletedAtOnceIsNotWatched) {
  const auto operation = make_operation();
  operation->completable = true;
  EXPECT_TRUE(purgatory_.try_complete_else_watch(operation, {"a", "b"}));
  EXPECT_EQ(operation->tries, 1);
  EXPECT_EQ(operation->completions, 1);
  EXPECT_EQ(purgatory_.watched(), 0U);
  EXPECT_EQ(purgatory_.delayed(), 0U);
}

TEST_P(PurgatoryTest, IsTriedOnceMoreWhenAllKeysWatchIt) {
  const auto operation = make_operation();
  operation->when_tried = [&] { operation->completable = true; };  // too late for the first try
  EXPECT_TRUE(purgatory_.try_complete_else_watch(operation, {"a", "b", "c"}));
  EXPECT_EQ(operation->tries, 2);
  EXPECT_EQ(operation->completions, 1);
  EXPECT_EQ(purgatory_.watched(), 3U) << "until it is dropped";
  EXPECT_EQ(purgatory_.delayed(), 0U);
}

TEST_P(PurgatoryTest, NeedsAKey) {
  const auto operation = make_operation();
  EXPECT_THROW(purgatory_.try_complete_else_watch(operation, {}), std::invalid_argument);
  EXPECT_EQ(operation->tries, 0);
}

TEST_P(PurgatoryTest, AnEventCompletesWhatItsKeyWatches) {
  EXPECT_EQ(purgatory_.check_and_complete("test1"), 0U) << "watches nothing";
  const auto r1 = watch({"test1"});
  const auto r2 = watch({"test2"});
  EXPECT_EQ(purgatory_.check_and_complete("test1"), 0U);
  EXPECT_EQ(purgatory_.check_and_complete("test2"), 0U);
  r1->completable = true;
  EXPECT_EQ(purgatory_.check_and_complete("test1"), 1U);
  EXPECT_EQ(purgatory_.check_and_complete("test1"), 0U);
  EXPECT_FALSE(r2->completed());
  r2->completable = true;
  EXPECT_EQ(purgatory_.check_and_complete("test2"), 1U);
  EXPECT_EQ(purgatory_.check_and_complete("test2"), 0U);
  EXPECT_EQ(r1->completions, 1);
  EXPECT_EQ(r2->completions, 1);
  advance_to(2 * kMillisecond);
  EXPECT_EQ(r1->expirations + r2->expirations, 0);
  EXPECT_EQ(purgatory_.delayed(), 0U);
}

TEST_P(PurgatoryTest, TriesInTheOrderInWhichTheyCame) {
  std::vector<int> order;
  Operations operations;
  for (int i = 0; i < 20; ++i) {
    const auto operation = watch({"key"});
    operation->when_tried = [&order, i] { order.push_back(i); };
    operation->completable = i % 3 == 0;
    operations.push_back(operation);
  }
  EXPECT_EQ(purgatory_.check_and_complete("key"), 7U);
  EXPECT_EQ(order.size(), 20U);
  EXPECT_EQ(purgatory_.check_and_complete("key"), 0U);
  EXPECT_EQ(order.size(), 33U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.begin() + 20));
  EXPECT_TRUE(std::is_sorted(order.begin() + 20, order.end()));
}

TEST_P(PurgatoryTest, ExpiresWhenItsTimeIsOver) {
  const auto r1 = watch({"test1"}, 20 * kMillisecond);
  const auto r2 = watch({"test1", "test2"}, 200'000 * kMillisecond);
  advance_to(20 * kMillisecond - 1);
  EXPECT_FALSE(r1->completed());
  advance_to(22 * kMillisecond);
  EXPECT_EQ(r1->completions, 1);
  EXPECT_EQ(r1->expirations, 1);
  EXPECT_FALSE(r2->completed());
  EXPECT_EQ(purgatory_.delayed(), 1U);
  r1->completable = true;
  EXPECT_EQ(purgatory_.check_and_complete("test1"), 0U);
  EXPECT_EQ(r1->completions, 1);
}

TEST_P(PurgatoryTest, ExpiresAtOnceIfItsTimeWasOverBefore) {
  advance_to(5 * kMillisecond);
  const auto operation = make_operation(kMillisecond);
  EXPECT_FALSE(purgatory_.try_complete_else_watch(operation, {"key"}));
  advance_to(7 * kMillisecond);
  EXPECT_EQ(operation->expirations, 1);
  EXPECT_EQ(purgatory_.delayed(), 0U);
}

TEST_P(PurgatoryTest, CompletedOnesAreDroppedWhereAKeyIsChecked) {
  const auto r1 = watch({"1"});
  const auto r2 = watch({"1", "2"});
  const auto r3 = watch({"1", "2", "3"});
  EXPECT_EQ(purgatory_.delayed(), 3U);
  EXPECT_EQ(purgatory_.watched(), 6U);
  EXPECT_TRUE(r2->force_complete());
  EXPECT_EQ(purgatory_.delayed(), 2U);
  EXPECT_EQ(purgatory_.watched(), 6U);
  EXPECT_TRUE(r3->force_complete());
  EXPECT_FALSE(r3->force_complete());
  EXPECT_EQ(purgatory_.delayed(), 1U);
  EXPECT_EQ(purgatory_.check_and_complete("1"), 0U);
  EXPECT_EQ(purgatory_.watched(), 4U);
  EXPECT_EQ(purgatory_.check_and_complete("2"), 0U);
  EXPECT_EQ(purgatory_.watched(), 2U);
  EXPECT_EQ(purgatory_.check_and_complete("3"), 0U);
  EXPECT_EQ(purgatory_.watched(), 1U);
}

TEST_P(PurgatoryTest, PurgesWhenMoreThanTheIntervalHaveCeasedToWait) {
  Operations operations;
  for (const char* key : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
    operations.push_back(watch({key, "all"}));
  }
  auto complete_next = [&, next = std::size_t{0}]() mutable {
    operations[next++]->force_complete();
    clock_.settle();
    return purgatory_.watched();
  };
  EXPECT_EQ(complete_next(), 18U);
  EXPECT_EQ(complete_next(), 18U);
  EXPECT_EQ(complete_next(), 18U) << "three are not more than three";
  EXPECT_EQ(complete_next(), 10U);
  EXPECT_EQ(complete_next(), 10U) << "counts anew";
  EXPECT_EQ(complete_next(), 10U);
  EXPECT_EQ(complete_next(), 10U);
  EXPECT_EQ(complete_next(), 2U);
  EXPECT_EQ(purgatory_.delayed(), 1U);
}

TEST_P(PurgatoryTest, PurgesAfterExpiriesToo) {
  for (Tick i = 1; i <= 4; ++i) watch({"a", "b"}, i * kMillisecond);
  advance_to(4 * kMillisecond - 1);
  EXPECT_EQ(purgatory_.watched(), 8U);
  advance_to(6 * kMillisecond);
  EXPECT_EQ(purgatory_.watched(), 0U);
}

TEST_P(PurgatoryTest, CompletedOnesDoNotPileUp) {
  const int before = TestOperation::alive;
  for (int i = 0; i < 2000; ++i) {
    const auto operation = watch({std::to_string(i), "never checked"});
    if (i % 2 == 0) {
      operation->force_complete();
    } else {
      operation->completable = true;
      EXPECT_EQ(purgatory_.check_and_complete(std::to_string(i)), 1U);
    }
    clock_.settle();
    ASSERT_LE(TestOperation::alive - before, 1 + static_cast<int>(kPurgeInterval) + 1);
  }
  EXPECT_LE(purgatory_.watched(), 2 * (kPurgeInterval + 1));
}

TEST_P(PurgatoryTest, AKeyThatWatchesNothingIsForgotten) {
  Purgatory<AnyService, std::shared_ptr<int>> purgatory(
      {.capacity = 4, .clock = clock_, .purge_interval = 1}, backend_.make);
  const auto key = std::make_shared<int>();  // the purgatory's copies are counted
  const auto watch = [&] {
    auto operation = make_operation();
    EXPECT_FALSE(purgatory.try_complete_else_watch(operation, {key}));
    EXPECT_EQ(key.use_count(), 2);
    return operation;
  };
  watch()->force_complete();
  purgatory.check_and_complete(key);
  EXPECT_EQ(key.use_count(), 1);
  watch();
  purgatory.cancel_for_key(key);
  clock_.settle();  // that was the second to cease, and is purged
  EXPECT_EQ(key.use_count(), 1);
  const auto first = watch();
  const auto second = watch();
  first->force_complete();
  second->force_complete();
  clock_.settle();
  EXPECT_EQ(key.use_count(), 1) << "purged";
}

TEST_P(PurgatoryTest, CancelForKeyTakesAwayTheTimersOnly) {
  const auto r1 = watch({"key"}, 2 * kMillisecond);
  const auto r2 = watch({"key", "key2"}, 2 * kMillisecond);
  const auto r3 = watch({"key2"}, 2 * kMillisecond);
  EXPECT_EQ(purgatory_.cancel_for_key("key"), (Operations{r1, r2}));
  EXPECT_EQ(purgatory_.delayed(), 1U);
  EXPECT_EQ(purgatory_.watched(), 2U);
  EXPECT_EQ(purgatory_.cancel_for_key("key"), Operations{});
  EXPECT_EQ(purgatory_.cancel_for_key("unknown"), Operations{});
  advance_to(5 * kMillisecond);
  EXPECT_FALSE(r1->completed());
  EXPECT_FALSE(r2->completed());
  EXPECT_TRUE(r3->completed());
  r1->completable = r2->completable = true;
  EXPECT_EQ(purgatory_.check_and_complete("key"), 0U);
  EXPECT_EQ(purgatory_.check_and_complete("key2"), 1U);
  EXPECT_TRUE(r2->completed());
  EXPECT_TRUE(r1->force_complete());
}

TEST_P(PurgatoryTest, AFullOneTakesNothingThatMustWait) {
  Operations operations;
  for (TimerId i = 0; i < kCapacity; ++i) operations.push_back(watch({"key"}));
  const auto late = make_operation();
  try {
    purgatory_.try_complete_else_watch(late, {"key"});
    FAIL() << "no room, and no error";
  } catch (const PurgatoryFull& error) {
    EXPECT_STREQ(error.what(),
                 "the purgatory is full: 64 operations wait; give it a larger capacity, or "
                 "complete some first");
  }
  EXPECT_FALSE(late->completed());
  EXPECT_EQ(purgatory_.watched(), kCapacity);
  late->completable = true;
  EXPECT_TRUE(purgatory_.try_complete_else_watch(late, {"key"})) << "need not wait";
  operations.front()->force_complete();
  watch({"key"});
  EXPECT_EQ(purgatory_.delayed(), kCapacity);
}

TEST_P(PurgatoryTest, WhatThrowsIsCountedAndHurtsNoOther) {
  const auto throws = [] { throw std::runtime_error("on purpose"); };
  const auto r1 = watch({"key"});
  const auto r2 = watch({"key"});
  const auto r3 = watch({"key"});
  r1->when_tried = throws;
  r2->when_completed = throws;
  r2->completable = r3->completable = true;
  EXPECT_EQ(purgatory_.check_and_complete("key"), 2U);
  EXPECT_EQ(purgatory_.failures(), 2U);
  EXPECT_FALSE(r1->completed());
  EXPECT_EQ(r2->completions, 1);
  EXPECT_EQ(r3->completions, 1);

  const auto r4 = watch({"other"}, 2 * kMillisecond);
  const auto r5 = watch({"other"}, 2 * kMillisecond);
  const auto r6 = watch({"other"}, 2 * kMillisecond);
  r4->when_completed = throws;
  r5->when_expired = throws;
  advance_to(5 * kMillisecond);
  EXPECT_EQ(purgatory_.failures(), 4U);
  EXPECT_EQ(r4->expirations, 0);
  EXPECT_EQ(r5->expirations, 1);
  EXPECT_EQ(r6->expirations, 1);
  EXPECT_EQ(purgatory_.delayed(), 1U) << "r1";

  const auto r7 = make_operation();  // throws at once, and waits nevertheless
  r7->when_tried = throws;
  EXPECT_FALSE(purgatory_.try_complete_else_watch(r7, {"key"}));
  EXPECT_EQ(purgatory_.failures(), 6U);
  EXPECT_EQ(purgatory_.delayed(), 2U);
}

TEST_P(PurgatoryTest, OnCompleteMayCheckTheSameKeyAndOthers) {
  std::vector<std::shared_ptr<TestOperation>> chain;  // each completes the next, of another key
  for (int i = 0; i < 10; ++i) chain.push_back(watch({std::to_string(i), "same"}));
  for (int i = 0; i < 10; ++i) {
    chain[i]->when_completed = [&, i] {
      if (i == 9) return;
      chain[i + 1]->completable = true;
      EXPECT_EQ(purgatory_.check_and_complete(i % 2 ? "same" : std::to_string(i + 1)), 1U);
    };
  }
  chain[0]->completable = true;
  EXPECT_EQ(purgatory_.check_and_complete("same"), 1U) << "its own completions";
  for (const auto& operation : chain) EXPECT_EQ(operation->completions, 1);
  purgatory_.check_and_complete("same");
  clock_.settle();
  EXPECT_EQ(purgatory_.delayed(), 0U);
}

TEST_P(PurgatoryTest, TryCompleteMayCheckItsOwnKey) {
  const auto operation = watch({"key"});
  std::size_t completed_within = 0;
  operation->when_tried = [&] {
    if (operation->completable.exchange(true)) return;
    completed_within = purgatory_.check_and_complete("key");
  };
  EXPECT_EQ(purgatory_.check_and_complete("key"), 0U);
  EXPECT_EQ(completed_within, 1U);
  EXPECT_EQ(operation->completions, 1);
}

TEST_P(PurgatoryTest, WhatCompletesOrExpiresMayWatchAnother) {
  const auto first = watch({"a"});
  const auto second = make_operation(2 * kMillisecond);
  const auto third = make_operation(4 * kMillisecond);
  first->when_completed = [&] {
    EXPECT_FALSE(purgatory_.try_complete_else_watch(second, {"a", "b"}));
  };
  second->when_expired = [&] { EXPECT_FALSE(purgatory_.try_complete_else_watch(third, {"b"})); };
  first->completable = true;
  EXPECT_EQ(purgatory_.check_and_complete("a"), 1U);
  advance_to(6 * kMillisecond);
  EXPECT_EQ(second->expirations, 1);
  EXPECT_EQ(third->expirations, 1);
}

// The tests of Kafka's DelayedFuture, restated: it waits until two futures are done.
TEST_P(PurgatoryTest, WaitsForSeveralEvents) {
  using Futures = std::array<std::atomic<bool>, 2>;
  class Both : public TestOperation {
   public:
    Both(Futures& done, Tick deadline) : TestOperation(deadline), done_(done) {}

   private:
    bool ready() const override { return done_[0] && done_[1]; }
    Futures& done_;
  };
  const std::vector<std::string> keys = {"0", "1"};

  Futures done = {true, true};
  const auto at_once = std::make_shared<Both>(done, kHour);
  EXPECT_TRUE(purgatory_.try_complete_else_watch(at_once, keys));

  Futures pending = {false, false};
  const auto after_both = std::make_shared<Both>(pending, kHour);
  EXPECT_FALSE(purgatory_.try_complete_else_watch(after_both, keys));
  pending[0] = true;
  EXPECT_EQ(purgatory_.check_and_complete("0"), 0U);
  pending[1] = true;
  EXPECT_EQ(purgatory_.check_and_complete("1"), 1U);
  EXPECT_EQ(after_both->expirations, 0);

  Futures one_done = {true, false};
  const auto after_one = std::make_shared<Both>(one_done, kHour);
  EXPECT_FALSE(purgatory_.try_complete_else_watch(after_one, keys));
  one_done[1] = true;
  EXPECT_EQ(purgatory_.check_and_complete("1"), 1U);

  Futures one_missing = {true, false};
  const auto timed_out = std::make_shared<Both>(one_missing, 2000 * kMillisecond);
  EXPECT_FALSE(purgatory_.try_complete_else_watch(timed_out, keys));
  advance_to(2000 * kMillisecond - 1);
  EXPECT_FALSE(timed_out->completed());
  advance_to(2002 * kMillisecond);
  EXPECT_EQ(timed_out->expirations, 1);
}

TEST_P(PurgatoryTest, StopHandsBackWhatWasToExpire) {
  const auto completed = watch({"key"});
  const auto expired = watch({"key"}, 2 * kMillisecond);
  const auto cancelled = watch({"cancelled"});
  const auto waiting = watch({"key"});
  completed->force_complete();
  advance_to(4 * kMillisecond);
  purgatory_.cancel_for_key("cancelled");
  EXPECT_EQ(purgatory_.stop(), Operations{waiting});
  EXPECT_EQ(purgatory_.stop(), Operations{});
  EXPECT_EQ(purgatory_.delayed(), 0U);
  EXPECT_FALSE(waiting->completed());
  waiting->completable = true;
  EXPECT_EQ(purgatory_.check_and_complete("key"), 1U) << "events still complete it";

  const auto late = make_operation();
  EXPECT_THROW(purgatory_.try_complete_else_watch(late, {"key"}), ServiceStopped);
  EXPECT_EQ(purgatory_.delayed(), 0U);
  EXPECT_TRUE(late->force_complete());
}

TEST_P(PurgatoryTest, OperationsOutliveIt) {
  std::shared_ptr<TestOperation> waiting;
  {
    Purgatory<AnyService> purgatory({.capacity = 4, .clock = clock_}, backend_.make);
    waiting = make_operation();
    EXPECT_FALSE(purgatory.try_complete_else_watch(waiting, {"key"}));
  }
  EXPECT_FALSE(waiting->completed());
  EXPECT_TRUE(waiting->force_complete());
}

TEST_P(PurgatoryTest, ShardsAnyHash) {
  Purgatory<AnyService, int> purgatory({.capacity = 16, .clock = clock_}, backend_.make);
  for (const int key : {INT_MIN, INT_MIN + 1, -1, 0, 1, INT_MAX}) {
    const auto operation = make_operation();
    EXPECT_FALSE(purgatory.try_complete_else_watch(operation, {key}));
    operation->completable = true;
    EXPECT_EQ(purgatory.check_and_complete(key), 1U);
  }
}

// While an operation expires nobody else has its id: there is no room until it has ended.
TEST_P(PurgatoryTest, AnIdIsNotReusedWhileItsFireIsUnderWay) {
  Purgatory<AnyService> purgatory({.capacity = 1, .clock = clock_}, backend_.make);
  const auto first = make_operation(kMillisecond);
  std::latch expiring(1);
  std::latch may_end(1);
  first->when_expired = [&] {
    expiring.count_down();
    may_end.wait();
  };
  EXPECT_FALSE(purgatory.try_complete_else_watch(first, {"key"}));
  clock_.settle();
  clock_.set(2 * kMillisecond);
  expiring.wait();
  EXPECT_FALSE(first->force_complete());
  EXPECT_EQ(purgatory.cancel_for_key("key"), Operations{first});
  EXPECT_EQ(purgatory.delayed(), 1U);
  EXPECT_THROW(purgatory.try_complete_else_watch(make_operation(), {"key"}), PurgatoryFull);
  may_end.count_down();
  clock_.settle();
  const auto second = make_operation(kHour);
  EXPECT_FALSE(purgatory.try_complete_else_watch(second, {"key"}));
  EXPECT_EQ(purgatory.delayed(), 1U);
  EXPECT_FALSE(second->completed());
}

TEST(IdlePurgatoryTest, DoesNotWakeUp) {
  ManualClock clock;
  Purgatory<Locked<BinaryHeap>> purgatory({.capacity = 1, .clock = clock});
  EXPECT_FALSE(purgatory.try_complete_else_watch(make_operation(), {"key"}));
  clock.settle();
  const auto before = purgatory.wakeups();
  for (int i = 1; i <= 1000; ++i) {
    clock.set(i * kMillisecond);
    clock.settle();
  }
  EXPECT_EQ(purgatory.wakeups(), before);
}

// A service whose calls the test comes between.
class Intruded : public Locked<BinaryHeap> {
 public:
  using Locked::Locked;

  void schedule(TimerId id, Tick deadline) {
    before_schedule();
    Locked::schedule(id, deadline);
    after_schedule();
  }

  bool cancel(TimerId id) {
    before_cancel();
    const bool cancelled = Locked::cancel(id);
    after_cancel();
    return cancelled;
  }

  std::function<void()> before_schedule = [] {};
  std::function<void()> after_schedule = [] {};
  std::function<void()> before_cancel = [] {};
  std::function<void()> after_cancel = [] {};
};

class PurgatoryRaceTest : public testing::Test {
 protected:
  ManualClock clock_;
  Intruded* service_ = nullptr;
  Purgatory<Intruded> purgatory_{{.capacity = 1, .clock = clock_},
                                 [this](const ServiceConfig& config) {
                                   auto service = std::make_unique<Intruded>(config);
                                   service_ = service.get();
                                   return service;
                                 }};
};

TEST_F(PurgatoryRaceTest, CompletedBetweenWatchAndTimer) {
  const auto operation = make_operation();
  service_->before_schedule = [&] { EXPECT_TRUE(operation->force_complete()); };
  EXPECT_FALSE(purgatory_.try_complete_else_watch(operation, {"key"}));
  EXPECT_EQ(service_->size(), 0U) << "a timer for nothing";
  EXPECT_EQ(purgatory_.delayed(), 0U);
  EXPECT_EQ(operation->completions, 1);
}

TEST_F(PurgatoryRaceTest, CompletedBeforeItIsWatched) {
  const auto operation = make_operation();
  operation->force_complete();
  service_->before_schedule = [] { ADD_FAILURE() << "a timer for nothing"; };
  EXPECT_FALSE(purgatory_.try_complete_else_watch(operation, {"key"}));
  EXPECT_EQ(purgatory_.delayed(), 0U);
}

TEST_F(PurgatoryRaceTest, CancelledBetweenWatchAndTimer) {
  const auto operation = make_operation();
  service_->before_schedule = [&] {
    EXPECT_EQ(purgatory_.cancel_for_key("key"), Operations{operation});
  };
  EXPECT_FALSE(purgatory_.try_complete_else_watch(operation, {"key"}));
  EXPECT_EQ(service_->size(), 0U);
  EXPECT_EQ(purgatory_.delayed(), 0U);
  EXPECT_FALSE(operation->completed());
}

TEST_F(PurgatoryRaceTest, ExpiredWhileItsTimerIsArmed) {
  const auto operation = make_operation(0);
  service_->after_schedule = [&] { clock_.settle(); };
  EXPECT_FALSE(purgatory_.try_complete_else_watch(operation, {"key"}));
  EXPECT_EQ(operation->expirations, 1);
  EXPECT_EQ(purgatory_.delayed(), 0U);
  service_->after_schedule = [] {};
  EXPECT_FALSE(purgatory_.try_complete_else_watch(make_operation(), {"key"})) << "one id, once";
  EXPECT_THROW(purgatory_.try_complete_else_watch(make_operation(), {"key"}), PurgatoryFull);
}

TEST_F(PurgatoryRaceTest, CompletesEvenIfTheTimerCannotBeCancelled) {
  const auto operation = make_operation(kMillisecond);
  EXPECT_FALSE(purgatory_.try_complete_else_watch(operation, {"key"}));
  service_->before_cancel = [] { throw BackendError("on purpose"); };
  EXPECT_TRUE(operation->force_complete());
  EXPECT_EQ(operation->completions, 1);
  EXPECT_EQ(purgatory_.failures(), 1U);
  EXPECT_EQ(purgatory_.delayed(), 1U) << "it may fire, so its id is in use";
  clock_.set(2 * kMillisecond);
  clock_.settle();
  EXPECT_EQ(purgatory_.delayed(), 0U);
  EXPECT_EQ(operation->expirations, 0);
}

TEST_F(PurgatoryRaceTest, StoppedBetweenWatchAndTimer) {
  const auto operation = make_operation();
  service_->before_schedule = [&] { EXPECT_EQ(purgatory_.stop(), Operations{operation}); };
  EXPECT_THROW(purgatory_.try_complete_else_watch(operation, {"key"}), ServiceStopped);
  EXPECT_EQ(purgatory_.delayed(), 0U);
  EXPECT_TRUE(operation->force_complete());
}

TEST_F(PurgatoryRaceTest, ExpiresThoughNobodyWasToldThatItsTimerIsArmed) {
  const auto operation = make_operation(kMillisecond);
  service_->after_schedule = [] { throw BackendError("on purpose"); };
  EXPECT_THROW(purgatory_.try_complete_else_watch(operation, {"key"}), BackendError);
  clock_.set(2 * kMillisecond);
  clock_.settle();
  EXPECT_EQ(operation->expirations, 1);
  EXPECT_EQ(purgatory_.delayed(), 0U);
}

TEST_F(PurgatoryRaceTest, WhatAFailedServiceDidNotArmIsHandedBack) {
  const auto operation = make_operation();
  service_->before_schedule = [] { throw BackendError("on purpose"); };
  EXPECT_THROW(purgatory_.try_complete_else_watch(operation, {"key"}), BackendError);
  EXPECT_EQ(purgatory_.delayed(), 1U) << "who knows";
  EXPECT_EQ(purgatory_.stop(), Operations{operation});
  EXPECT_EQ(purgatory_.delayed(), 0U);
}

TEST_F(PurgatoryRaceTest, AnIdWhoseCancelNobodyWasToldOfIsFreeAtTheEnd) {
  const auto operation = make_operation();
  EXPECT_FALSE(purgatory_.try_complete_else_watch(operation, {"key"}));
  service_->after_cancel = [] { throw BackendError("on purpose"); };
  EXPECT_TRUE(operation->force_complete());
  EXPECT_EQ(purgatory_.delayed(), 1U) << "who knows";
  EXPECT_EQ(purgatory_.stop(), Operations{}) << "it was completed";
  EXPECT_EQ(purgatory_.delayed(), 0U);
}

// As one whose server is gone, or whose queue others share.
TEST(ForgetfulServiceTest, OperationsOutliveThePurgatory) {
  struct Forgetful : Locked<BinaryHeap> {
    using Locked::Locked;
    std::vector<PendingTimer> stop() {
      Locked::stop();
      return {};
    }
  };
  const auto operation = make_operation();
  {
    ManualClock clock;
    Purgatory<Forgetful> purgatory({.capacity = 1, .clock = clock});
    EXPECT_FALSE(purgatory.try_complete_else_watch(operation, {"key"}));
    EXPECT_EQ(purgatory.stop(), Operations{operation});
    EXPECT_EQ(purgatory.failures(), 1U);
    EXPECT_EQ(purgatory.delayed(), 0U);
  }
  EXPECT_TRUE(operation->force_complete());
}

TEST_F(PurgatoryRaceTest, StoppedJustAfterTheTimer) {
  const auto operation = make_operation();
  service_->after_schedule = [&] { EXPECT_EQ(purgatory_.stop(), Operations{operation}); };
  EXPECT_FALSE(purgatory_.try_complete_else_watch(operation, {"key"}));
  EXPECT_EQ(purgatory_.delayed(), 0U);
}

// The purgatory has the last reference, and gives it up where it cancels the timer.
TEST_F(PurgatoryRaceTest, LivesUntilItIsCompletedThoughNobodyElseHoldsIt) {
  const int before = TestOperation::alive;
  TestOperation* operation;
  {
    const auto owner = make_operation();
    operation = owner.get();
    EXPECT_FALSE(purgatory_.try_complete_else_watch(owner, {"key"}));
  }
  service_->before_cancel = [&] { purgatory_.check_and_complete("key"); };  // drops it
  int alive_at_completion = before;
  operation->when_completed = [&] { alive_at_completion = TestOperation::alive; };
  EXPECT_TRUE(operation->force_complete());
  EXPECT_EQ(alive_at_completion, before + 1);
  EXPECT_EQ(TestOperation::alive, before);
}

TEST(ThrowingKeyTest, TheIdOfWhatCannotBeWatchedIsFree) {
  ManualClock clock;
  Purgatory<Locked<BinaryHeap>, HookedKey> purgatory({.capacity = 1, .clock = clock});
  const HookedKey good{1};
  const HookedKey bad{2, [] { throw std::bad_alloc(); }};
  EXPECT_THROW(purgatory.try_complete_else_watch(make_operation(), {good, bad}), std::bad_alloc);
  EXPECT_EQ(purgatory.delayed(), 0U);
  EXPECT_FALSE(purgatory.try_complete_else_watch(make_operation(), {good})) << "there is room";
}

using EventsTest = testing::TestWithParam<std::string_view>;
INSTANTIATE_TEST_SUITE_P(Service, EventsTest, testing::ValuesIn(names_without_own_clock()),
                         test_name);

// Kafka's test of a completion that is lost when somebody else holds the lock of the operation
// (KAFKA-6653): an event that comes while it is tried in vain must have it tried again.
TEST_P(EventsTest, NoneIsMissedWhileAnotherIsTried) {
  constexpr int kThreads = 20;
  constexpr int kOperations = 100;
  constexpr int kAttempts = 20;  // of each; the last makes it completable
  SteadyClock clock;
  Purgatory<AnyService, int> purgatory({.capacity = kOperations, .clock = clock},
                                       service_named(GetParam()).make);
  std::vector<std::shared_ptr<TestOperation>> operations;
  std::vector<std::atomic<int>> attempts_left(kOperations);
  for (int i = 0; i < kOperations; ++i) {
    operations.push_back(make_operation(clock.now() + kHour));
    attempts_left[i] = kAttempts;
    EXPECT_FALSE(purgatory.try_complete_else_watch(operations[i], {i}));
    operations[i]->when_tried = [] {
      static thread_local std::minstd_rand random(std::random_device{}());
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 10));
    };
  }
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int n = next++; n < kAttempts * kOperations; n = next++) {
        const int i = n / (10 * kAttempts) * 10 + n % 10;  // ten at a time, two threads on each
        if (--attempts_left[i] == 0) operations[i]->completable = true;
        purgatory.check_and_complete(i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& operation : operations) EXPECT_EQ(operation->completions, 1);
  EXPECT_EQ(purgatory.watched(), 0U);
}

// While an operation is being watched it is locked: somebody who finds it by its first key waits
// until it is known whether it could be completed.
TEST(PurgatoryThreadsTest, IsLockedWhileItIsWatched) {
  ManualClock clock;
  Purgatory<Locked<BinaryHeap>, HookedKey> purgatory({.capacity = 1, .clock = clock});
  const auto operation = make_operation();
  std::thread other;
  const HookedKey first{1};
  const HookedKey second{2, [&] {  // the first one watches it already
                           if (other.joinable()) return;
                           other = std::thread([&] { purgatory.check_and_complete(first); });
                           std::this_thread::sleep_for(std::chrono::milliseconds(50));
                           EXPECT_EQ(operation->tries, 1);
                         }};
  EXPECT_FALSE(purgatory.try_complete_else_watch(operation, {first, second}));
  other.join();
  EXPECT_EQ(operation->tries, 3);
}

// Trap T35: on_complete() runs once though two complete it at the same instant.
TEST(PurgatoryThreadsTest, OneOfTwoCompletesIt) {
  std::vector<std::shared_ptr<TestOperation>> operations;
  for (int i = 0; i < 20'000; ++i) operations.push_back(make_operation());
  std::atomic<std::size_t> arrived = 0;
  std::atomic<std::size_t> completed = 0;
  const auto complete_all = [&] {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      ++arrived;
      while (arrived < 2 * (i + 1)) std::this_thread::yield();
      if (operations[i]->force_complete()) ++completed;
    }
  };
  std::thread other(complete_all);
  complete_all();
  other.join();
  EXPECT_EQ(completed, operations.size());
  for (const auto& operation : operations) EXPECT_EQ(operation->completions, 1);
}

// Three threads complete operations whose on_complete() checks the next one's key.
TEST(PurgatoryThreadsTest, OperationsThatCheckEachOtherDoNotDeadlock) {
  SteadyClock clock;
  Purgatory<Locked<BinaryHeap>, int> purgatory({.capacity = 8, .clock = clock});
  for (int round = 0; round < 500; ++round) {
    std::shared_ptr<TestOperation> operations[3];
    for (int i = 0; i < 3; ++i) {
      operations[i] = make_operation(clock.now() + kHour);
      operations[i]->when_completed = [&, i] {
        purgatory.check_and_complete((i + 1) % 3);
        purgatory.check_and_complete(i);
      };
      EXPECT_FALSE(purgatory.try_complete_else_watch(operations[i], {i}));
    }
    for (const auto& operation : operations) operation->completable = true;
    std::latch start(3);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        purgatory.check_and_complete(i);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& operation : operations) ASSERT_EQ(operation->completions, 1);
  }
}

class RealTimePurgatoryTest : public testing::TestWithParam<std::string_view> {
 protected:
  const ServiceBackend& backend_ = service_named(GetParam());
  SteadyClock clock_;
};
INSTANTIATE_TEST_SUITE_P(Service, RealTimePurgatoryTest, testing::ValuesIn(local(names_of_all())),
                         test_name);

TEST_P(RealTimePurgatoryTest, StopDoesNotWaitForATimerAnHourAway) {
  std::unique_ptr<Purgatory<AnyService>> purgatory;
  std::shared_ptr<TestOperation> operation;
  const auto time = median_of_five([&] {
    purgatory = std::make_unique<Purgatory<AnyService>>(
        PurgatoryConfig{.capacity = 1, .clock = clock_}, backend_.make);
    operation = make_operation(clock_.now() + kHour);
    EXPECT_FALSE(purgatory->try_complete_else_watch(operation, {"key"}));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return [&] {
      EXPECT_EQ(purgatory->stop(), Operations{operation});
      purgatory.reset();
    };
  });
  EXPECT_LT(time, std::chrono::milliseconds(50));
}

// Few ids, short deadlines, and threads that watch, check, complete and cancel at random.
TEST_P(RealTimePurgatoryTest, EveryOperationCompletesOnceUnderStress) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kOperations = 10'000;  // of each
  constexpr int kKeys = 16;
  Purgatory<AnyService, int> purgatory({.capacity = 24, .clock = clock_, .purge_interval = 100},
                                       backend_.make);
  std::vector<std::shared_ptr<TestOperation>> operations(kThreads * kOperations);
  std::atomic<int> early = 0;
  std::atomic<int> cancelled = 0;
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::minstd_rand random(static_cast<unsigned>(thread + 1));
      const auto key = [&] { return static_cast<int>(random() % kKeys); };
      for (std::size_t i = 0; i < kOperations; ++i) {
        const Tick deadline = clock_.now() + random() % (kMillisecond / 2);
        const auto operation = make_operation(deadline);
        operations[thread * kOperations + i] = operation;
        operation->when_expired = [&, deadline] { early += clock_.now() < deadline; };
        for (bool watched = false; !watched;) {
          try {
            purgatory.try_complete_else_watch(operation, {key(), key()});
            watched = true;
          } catch (const PurgatoryFull&) {
            std::this_thread::yield();
          }
        }
        const std::size_t age = random() % std::min<std::size_t>(i + 1, 16);
        TestOperation& recent = *operations[thread * kOperations + i - age];
        if (random() % 3 == 0) {
          recent.force_complete();
        } else {
          recent.completable = true;
        }
        if (random() % 2 == 0) purgatory.check_and_complete(key());
        if (random() % 200 == 0) {
          for (const auto& gone : purgatory.cancel_for_key(key())) {
            cancelled += gone->force_complete();  // else it would wait for ever
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (purgatory.delayed() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(early, 0);
  EXPECT_EQ(purgatory.failures(), 0U);
  EXPECT_GT(cancelled, 0);
  std::size_t expirations = 0;
  for (const auto& operation : operations) {
    ASSERT_EQ(operation->completions, 1);
    ASSERT_LE(operation->expirations, 1);
    expirations += operation->expirations;
  }
  EXPECT_GT(expirations, 0U);
  EXPECT_LT(expirations, operations.size());
  for (int key = 0; key < kKeys; ++key) EXPECT_EQ(purgatory.check_and_complete(key), 0U);
  EXPECT_EQ(purgatory.watched(), 0U);
}

}  // namespace
}  // namespace timerbench
