// The worker of durable/worker.h: what it does with each timer when handlers, queues or it fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "durable/engine.h"
#include "durable/worker.h"
#include "scratch.h"
#include "time_limit.h"

namespace timerbench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using std::chrono_literals::operator""ms;

using Ids = std::vector<DurableId>;

constexpr Tick kMs = 1'000'000;
constexpr Tick kLease = 1000 * kMs;

// Fails as an engine does: before it has done what was asked for, or after.
class Failing : public DurableQueue {
 public:
  enum class Fails { never, before, after };

  explicit Failing(std::unique_ptr<DurableQueue> queue) : queue_(std::move(queue)) {}

  void schedule(std::span<const DurableTimer> timers) override { queue_->schedule(timers); }
  bool cancel(DurableId id) override { return queue_->cancel(id); }
  Claims claim(std::size_t most, Tick lease) override {
    if (std::exchange(claim_fails, Fails::never) != Fails::never) throw BackendError("no server");
    return queue_->claim(most, lease);
  }
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override {
    const Fails fails = std::exchange(complete_fails, Fails::never);
    if (fails == Fails::before) throw BackendError("no server");
    auto held = queue_->complete(claims);
    if (fails == Fails::after) throw BackendError("no answer");
    return held;
  }
  void give_back(std::span<const ClaimedTimer> claims) override { queue_->give_back(claims); }
  bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) override {
    return queue_->await_earlier(next_wakeup, longest);
  }
  std::size_t size() override { return queue_->size(); }

  // Of the next call.
  Fails claim_fails = Fails::never, complete_fails = Fails::never;

 private:
  const std::unique_ptr<DurableQueue> queue_;
};

// The first queue of the roster is one of our own in a file.
class DurableWorkerTest : public ::testing::Test {
 protected:
  std::unique_ptr<DurableQueue> open() {
    return engine_->open({.queue = "timers", .now = [this] { return now_; }});
  }

  void arm(const Ids& ids) {
    std::vector<DurableTimer> timers;
    for (const DurableId id : ids) timers.push_back({id, now_, "x"});
    queue_.schedule(timers);
  }

  DurableWorker::Settings settings(Delivery delivery, std::size_t batch = 10) {
    return {.delivery = delivery,
            .batch = batch,
            .lease = kLease,
            .longest_sleep = 1ms,
            .pause = 1ms,
            .on_claimed = [this](const DurableTimer& timer) { claimed_.push_back(timer.id); },
            .on_completed = [this](DurableId id,
                                   bool held) { (held ? held_ : not_held_).push_back(id); },
            .on_error = [this](const BackendError& error) { errors_.emplace_back(error.what()); }};
  }

  DurableWorker::Handler handler() {
    return [this](const DurableTimer& timer) {
      handled_.push_back(timer.id);
      if (timer.id == throws_for_) throw std::runtime_error("handler");
    };
  }

  const Scratch folder_;
  const std::unique_ptr<DurableEngine> engine_ = durable_roster().front().start(folder_.path());
  Tick now_ = 1'800'000'000'000 * kMs;
  Failing queue_{open()};
  Ids claimed_, handled_, held_, not_held_;
  std::vector<std::string> errors_;
  DurableId throws_for_ = 99;
};

TEST_F(DurableWorkerTest, HandlesAndCompletesWhatIsDue) {
  for (const Delivery delivery : {Delivery::at_least_once, Delivery::at_most_once}) {
    handled_.clear();
    arm({1, 2, 3});
    DurableWorker worker(queue_, settings(delivery, /*batch=*/2));
    const auto first = worker.step(handler());
    EXPECT_EQ(first.handled, 2U);
    EXPECT_EQ(first.look_again, 0U);
    EXPECT_EQ(worker.step(handler()).handled, 1U);
    const auto last = worker.step(handler());
    EXPECT_EQ(last.handled, 0U);
    EXPECT_EQ(last.look_again, kNever);
    EXPECT_THAT(handled_, UnorderedElementsAre(1, 2, 3));
    EXPECT_EQ(queue_.size(), 0U);
  }
  EXPECT_THAT(held_, UnorderedElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_EQ(claimed_.size(), 6U);
  EXPECT_THAT(not_held_, IsEmpty());
}

TEST_F(DurableWorkerTest, TellsWhenToLookAgain) {
  const DurableTimer later{1, now_ + 5 * kMs};
  queue_.schedule({&later, 1});
  DurableWorker worker(queue_, settings(Delivery::at_least_once));
  const Tick look_again = worker.step(handler()).look_again;
  EXPECT_GT(look_again, now_);
  EXPECT_LE(look_again, later.deadline);
}

TEST_F(DurableWorkerTest, CompletesAfterTheHandlerOrBefore) {
  for (const Delivery delivery : {Delivery::at_least_once, Delivery::at_most_once}) {
    arm({1});
    std::size_t left = 0;
    DurableWorker(queue_, settings(delivery)).step([&](const DurableTimer&) {
      left = queue_.size();
    });
    EXPECT_EQ(left, delivery == Delivery::at_least_once ? 1U : 0U);
  }
}

TEST_F(DurableWorkerTest, DoesAtMostOnceOnlyWhatItStillHeld) {
  arm({1, 2});
  auto with_a_cancel = settings(Delivery::at_most_once);
  with_a_cancel.on_claimed = [this](const DurableTimer& timer) {
    if (timer.id == 1) queue_.cancel(1);
  };
  EXPECT_EQ(DurableWorker(queue_, with_a_cancel).step(handler()).handled, 1U);
  EXPECT_THAT(handled_, ElementsAre(2));
  EXPECT_THAT(held_, ElementsAre(2));
  EXPECT_THAT(not_held_, ElementsAre(1));
}

TEST_F(DurableWorkerTest, PassesOnWhatAHandlerThrowsAfterTheOthers) {
  throws_for_ = 1;
  arm({1, 2, 3});
  DurableWorker worker(queue_, settings(Delivery::at_least_once));
  EXPECT_THROW(worker.step(handler()), std::runtime_error);
  EXPECT_THAT(handled_, UnorderedElementsAre(1, 2, 3));
  EXPECT_THAT(held_, UnorderedElementsAre(2, 3));
  EXPECT_EQ(worker.step(handler()).handled, 0U);  // its lease has not ended
  now_ += kLease + kMs;
  throws_for_ = 99;
  EXPECT_EQ(worker.step(handler()).handled, 1U);
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(DurableWorkerTest, DoesNotRepeatAtMostOnceWhatAHandlerThrewFor) {
  throws_for_ = 1;
  arm({1, 2});
  DurableWorker worker(queue_, settings(Delivery::at_most_once));
  EXPECT_THROW(worker.step(handler()), std::runtime_error);
  EXPECT_THAT(handled_, UnorderedElementsAre(1, 2));
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(DurableWorkerTest, CompletesAgainWhenTheAnswerWasLost) {
  for (const auto fails : {Failing::Fails::before, Failing::Fails::after}) {
    arm({1});
    handled_.clear(), held_.clear();
    DurableWorker worker(queue_, settings(Delivery::at_least_once));
    queue_.complete_fails = fails;
    EXPECT_THROW(worker.step(handler()), BackendError);
    EXPECT_EQ(worker.step(handler()).look_again, 0U);
    EXPECT_THAT(handled_, ElementsAre(1));  // once, although complete() was called twice
    EXPECT_EQ(held_.empty(), fails == Failing::Fails::after);
    EXPECT_EQ(queue_.size(), 0U);
  }
}

TEST_F(DurableWorkerTest, HandlesAtMostOnceWhenTheAnswerWasLost) {
  for (const auto fails : {Failing::Fails::before, Failing::Fails::after}) {
    arm({1});
    handled_.clear();
    DurableWorker worker(queue_, settings(Delivery::at_most_once));
    queue_.complete_fails = fails;
    EXPECT_THROW(worker.step(handler()), BackendError);
    worker.step(handler());
    EXPECT_EQ(handled_.empty(), fails == Failing::Fails::after);  // it may be done, so it is not
    EXPECT_EQ(queue_.size(), 0U);
  }
}

// Else one shard that is down would stop all that it could claim elsewhere.
TEST_F(DurableWorkerTest, ClaimsMoreWhenTheLeaseOfWhatItCannotCompleteHasEnded) {
  DurableWorker::Settings brief = settings(Delivery::at_least_once);
  brief.lease = 20 * kMs;
  DurableWorker worker(queue_, brief);
  arm({1});
  queue_.complete_fails = Failing::Fails::before;
  EXPECT_THROW(worker.step(handler()), BackendError);
  std::this_thread::sleep_for(30ms);
  arm({2});
  worker.step(handler());
  EXPECT_THAT(handled_, ElementsAre(1, 2));
  EXPECT_THAT(held_, ElementsAre(2));
}

TEST_F(DurableWorkerTest, RunsUntilItIsOverAndOutlivesErrorsOfTheQueue) {
  arm({1, 2, 3});
  queue_.claim_fails = Failing::Fails::before;
  queue_.complete_fails = Failing::Fails::before;
  DurableWorker worker(queue_, settings(Delivery::at_least_once, /*batch=*/2));
  const TimeLimit limit;
  worker.run(handler(), [&] { return queue_.size() == 0 || limit.is_over(); });
  EXPECT_THAT(handled_, UnorderedElementsAre(1, 2, 3));
  EXPECT_THAT(errors_, ElementsAre("no server", "no server"));
}

TEST_F(DurableWorkerTest, StopsRunningWhenAHandlerThrowsEvenAnErrorOfABackend) {
  arm({1});
  DurableWorker worker(queue_, settings(Delivery::at_least_once));
  const auto handler = [](const DurableTimer&) { throw BackendError("another backend"); };
  EXPECT_THROW(worker.run(handler, [] { return false; }), BackendError);
  EXPECT_THAT(errors_, IsEmpty());
}

TEST_F(DurableWorkerTest, RunsInSeveralThreadsThatAreWokenAndShareTheWork) {
  constexpr std::size_t kTimers = 500, kTogether = 50;
  std::vector<Ids> handled(3);
  std::atomic<std::size_t> left = kTimers;
  const TimeLimit limit;
  {
    std::vector<std::jthread> threads;
    for (Ids& own : handled) {
      threads.emplace_back([&] {
        const auto queue = open();
        DurableWorker worker(*queue, {.batch = 7});
        worker.run(
            [&](const DurableTimer& timer) {
              own.push_back(timer.id);
              --left;
            },
            [&] { return left == 0 || limit.is_over(); });
      });
    }
    for (DurableId id = 0; id < kTimers;) {
      Ids some;
      while (some.size() < kTogether) some.push_back(id++);
      arm(some);
      std::this_thread::sleep_for(1ms);
    }
  }
  Ids together;
  for (const Ids& own : handled) together.insert(together.end(), own.begin(), own.end());
  std::ranges::sort(together);
  Ids all(kTimers);
  std::iota(all.begin(), all.end(), DurableId{0});
  EXPECT_EQ(together, all);
}

}  // namespace
}  // namespace timerbench
