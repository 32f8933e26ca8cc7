// Contention: what the audit of services finds and what it must not, the patterns, the figures.
#include "realtime/contention.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/backend_error.h"
#include "counted_callers.h"
#include "realtime/audited_service.h"
#include "run_until.h"

namespace timerbench {
namespace {

using testing::HasSubstr;

const ServiceBackend& backend(std::string_view name) {
  return *std::ranges::find(services(), name, [](const auto& one) { return one.traits.name; });
}

// ---- One history at a time: the test is the service, and answers as it likes.

class AuditTest : public testing::Test {
 protected:
  struct Scripted final : AnyService {
    explicit Scripted(AuditTest& test) : test(test) {}
    ~Scripted() override { test.on_destroy_(); }
    void schedule(TimerId, Tick deadline) override {
      test.armed_.push_back(deadline);
      std::exchange(test.within_, [] {})();
    }
    bool cancel(TimerId) override {
      const bool answer = test.answer_;
      std::exchange(test.within_, [] {})();
      return answer;
    }
    std::vector<PendingTimer> stop() override { return test.pending_; }
    std::size_t size() const override { return 0; }
    std::uint64_t failures() const override { return test.failures_; }
    std::uint64_t wakeups() const override { return 0; }

    AuditTest& test;
  };

  AuditTest() { clock_.set(kDue + kMillisecond); }

  void arm(Tick deadline, std::size_t thread = 0) { service_.schedule(thread, 0, deadline); }
  void cancel(bool answer, std::size_t thread = 0) {
    answer_ = answer;
    service_.cancel(thread, 0);
  }
  void fire(std::size_t arming) { handler_(0, armed_.at(arming)); }
  void hand_back(std::size_t arming) { pending_.push_back({0, armed_.at(arming)}); }
  std::string verdict() { return service_.finish(kNoStop).value_or("right"); }

  std::vector<Tick> armed_;               // the deadlines, in the order of the calls
  std::function<void()> within_ = [] {};  // happens within the next call
  std::function<void()> within_handler_ = [] {};
  bool answer_ = false;                // of the next cancel()
  std::vector<PendingTimer> pending_;  // what stop() hands back
  std::uint64_t failures_ = 0;
  std::function<void()> on_destroy_ = [] {};
  FireHandler handler_;
  ManualClock clock_;
  static constexpr Tick kDue = 1'000 * kMillisecond;
  AuditedService service_{
      {.traits = {.name = "scripted", .summary = "", .precision = Precision::exact, .paper = ""},
       .make =
           [this](const ServiceConfig& config) {
             handler_ = config.handler;
             return std::make_unique<Scripted>(*this);
           }},
      {.capacity = 1, .clock = clock_, .handler = [this](TimerId, Tick) { within_handler_(); }},
      3};
};

TEST_F(AuditTest, EveryEndOfAnArmingIsRight) {
  arm(kDue);
  fire(0);
  arm(kDue);  // moved
  arm(kHour);
  cancel(true);
  cancel(false);
  arm(kHour);
  hand_back(3);
  ASSERT_EQ(verdict(), "right");
  EXPECT_EQ(service_.counts().armed, 4U);
  EXPECT_EQ(service_.counts().fired, 1U);
  EXPECT_EQ(service_.counts().cancelled, 1U);
  EXPECT_EQ(service_.counts().pending, 1U);
  EXPECT_EQ(service_.counts().moved(), 1U);
}

TEST_F(AuditTest, NoArmingIsLost) {
  arm(kHour);
  EXPECT_THAT(verdict(), HasSubstr("timer 0: stop() did not hand it back"));
}

TEST_F(AuditTest, NoArmingFiresTwice) {
  arm(kDue);
  fire(0);
  fire(0);
  EXPECT_THAT(verdict(), HasSubstr("timer 0 fired twice"));
}

TEST_F(AuditTest, NothingFiresThatWasNotArmed) {
  arm(kDue);
  handler_(0, armed_[0] + 1);
  EXPECT_THAT(verdict(), HasSubstr("never armed"));
}

TEST_F(AuditTest, NothingFiresForAnotherInstant) {
  arm(kDue);
  handler_(0, armed_[0] - (Tick{1} << 20));  // its last bits are those of the arming
  EXPECT_THAT(verdict(), HasSubstr("never armed"));
}

TEST_F(AuditTest, NothingFiresEarly) {
  arm(kDue + 10 * kMillisecond);
  fire(0);
  EXPECT_THAT(verdict(), HasSubstr("before its deadline"));
}

TEST_F(AuditTest, NothingFiresThatWasCancelled) {
  arm(kDue);
  cancel(true);
  fire(0);
  EXPECT_THAT(verdict(), HasSubstr("cancel() returned true"));
}

TEST_F(AuditTest, NothingIsCancelledThatHasFired) {
  arm(kDue);
  fire(0);
  cancel(true);
  EXPECT_THAT(verdict(), HasSubstr("fired all the same"));
}

TEST_F(AuditTest, NothingIsCancelledTwice) {
  arm(kDue);
  cancel(true);
  cancel(true);
  EXPECT_THAT(verdict(), HasSubstr("nothing was armed"));
}

TEST_F(AuditTest, WhatIsPendingIsCancelled) {
  arm(kHour);
  cancel(false);
  EXPECT_THAT(verdict(), HasSubstr("never fired"));
}

TEST_F(AuditTest, WhatIsDueMayBeBeyondCancelling) {
  arm(kDue);
  cancel(false);
  fire(0);
  EXPECT_EQ(verdict(), "right");
}

TEST_F(AuditTest, WhatIsNotDueIsNot) {
  arm(kDue + 10 * kMillisecond);
  cancel(false);
  clock_.set(kDue + 20 * kMillisecond);
  fire(0);
  EXPECT_THAT(verdict(), HasSubstr("cancel() returned false"));
}

TEST_F(AuditTest, WhatIsMovedBeforeItIsDueDoesNotFire) {
  arm(kDue + 10 * kMillisecond);
  arm(kHour);
  hand_back(1);
  clock_.set(kDue + 20 * kMillisecond);
  fire(0);
  EXPECT_THAT(verdict(), HasSubstr("schedule() returned"));
}

TEST_F(AuditTest, WhatIsMovedIsNotHandedBack) {
  arm(kHour);
  arm(kHour);
  hand_back(0);
  EXPECT_THAT(verdict(), HasSubstr("was pending to the end"));
}

TEST_F(AuditTest, WhatFiresIsNotHandedBack) {
  arm(kDue);
  fire(0);
  hand_back(0);
  EXPECT_THAT(verdict(), HasSubstr("for which it fired"));
}

TEST_F(AuditTest, NothingIsHandedBackTwice) {
  arm(kHour);
  hand_back(0);
  hand_back(0);
  EXPECT_THAT(verdict(), HasSubstr("twice"));
}

TEST_F(AuditTest, NothingIsHandedBackThatWasNotArmed) {
  arm(kHour);
  pending_.push_back({0, kHour + kMillisecond});
  EXPECT_THAT(verdict(), HasSubstr("never armed"));
}

TEST_F(AuditTest, WhatIsDueFiresInTime) {
  arm(kDue);
  clock_.set(kDue + 6'000 * kMillisecond);
  hand_back(0);
  EXPECT_THAT(verdict(), HasSubstr("had not fired"));
}

TEST_F(AuditTest, NothingFiresOnceStopHasReturned) {
  arm(kDue);
  on_destroy_ = [&] { fire(0); };
  EXPECT_THAT(verdict(), HasSubstr("after stop()"));
}

TEST_F(AuditTest, NoHandlerRunsOnceStopHasReturned) {
  arm(kDue);
  within_handler_ = [&] { service_.stop(); };
  fire(0);
  EXPECT_THAT(verdict(), HasSubstr("still ran after stop()"));
}

TEST_F(AuditTest, WhatIsHandedBackIsBeyondCancelling) {
  arm(kHour);
  hand_back(0);
  service_.stop();
  cancel(false);
  EXPECT_EQ(verdict(), "right");
}

TEST_F(AuditTest, WhatIsHandedBackWasNotBeyondCancellingBefore) {
  arm(kHour);
  hand_back(0);
  cancel(false);
  service_.stop();
  EXPECT_THAT(verdict(), HasSubstr("cancel() returned false"));
}

TEST_F(AuditTest, WhatIsHandedBackIsNotCancelledToo) {
  arm(kHour);
  hand_back(0);
  service_.stop();
  cancel(true);
  EXPECT_THAT(verdict(), HasSubstr("cancel() returned true"));
}

TEST_F(AuditTest, NothingIsArmedOnceStopHasReturned) {
  service_.stop();
  arm(kHour);
  EXPECT_THAT(verdict(), HasSubstr("stop() did not hand it back"));
}

TEST_F(AuditTest, ScheduleRefusesOnceStopIsCalled) {
  arm(kHour);
  hand_back(0);
  service_.stop();
  within_ = [] { throw ServiceStopped(); };
  arm(kHour);
  EXPECT_EQ(verdict(), "right");
}

TEST_F(AuditTest, ScheduleDoesNotRefuseBefore) {
  within_ = [] { throw ServiceStopped(); };
  arm(kHour);
  EXPECT_THAT(verdict(), HasSubstr("before stop() was called"));
}

TEST_F(AuditTest, NoHandlerFails) {
  failures_ = 1;
  EXPECT_THAT(verdict(), HasSubstr("no handler has thrown"));
}

TEST_F(AuditTest, AFireMayBeginBeforeScheduleReturns) {
  within_ = [&] { fire(0); };
  arm(kDue);
  cancel(false);
  EXPECT_EQ(verdict(), "right");
}

// The threads of `cross` call in pairs, and a log may have room for the first of a pair only.
TEST(AuditContentionTest, AFullLogEndsTheCalls) {
  AuditedService::Counts counts;
  const ContentionOptions options{.pattern = Pattern::cross, .threads = 2, .seconds = 60};
  EXPECT_EQ(audit_contention(options, backend("java_timer"), AuditEnd::drained, counts, kNoStop),
            std::nullopt);
  EXPECT_GT(counts.armed, 100'000U);
}

// What two cancels return that overlap.
class OverlappingCancelsTest : public AuditTest,
                               public testing::WithParamInterface<std::tuple<bool, bool>> {
 protected:
  const bool first_ = std::get<0>(GetParam());
  const bool second_ = std::get<1>(GetParam());
};

TEST_P(OverlappingCancelsTest, OneReturnsTrue) {
  arm(kDue);
  within_ = [&] { cancel(second_, 1); };
  cancel(first_, 0);
  EXPECT_EQ(verdict() == "right", first_ != second_);
}

TEST_P(OverlappingCancelsTest, AScheduleMayComeBeforeBetweenOrBehind) {
  within_ = [&] {
    within_ = [&] { cancel(second_, 1); };
    cancel(first_, 0);
  };
  arm(kHour, 2);
  if (!first_ && !second_) hand_back(0);
  EXPECT_EQ(verdict() == "right", !(first_ && second_));
}

TEST_P(OverlappingCancelsTest, TwoArmingsMayEndByBoth) {
  arm(kHour, 2);
  within_ = [&] {
    within_ = [&] { cancel(second_, 1); };
    cancel(first_, 0);
  };
  arm(kHour, 2);
  if (!first_ || !second_) hand_back(1);
  EXPECT_EQ(verdict() == "right", first_ || second_);
}

INSTANTIATE_TEST_SUITE_P(, OverlappingCancelsTest,
                         testing::Combine(testing::Bool(), testing::Bool()));

TEST_F(AuditTest, OfTwoArmingsThatOverlapEitherMayBeTheLast) {
  within_ = [&] { arm(kHour, 1); };
  arm(kHour, 0);
  hand_back(0);
  EXPECT_EQ(verdict(), "right");
}

TEST_F(AuditTest, OfTwoArmingsThatOverlapOneIsLeft) {
  within_ = [&] { arm(kHour, 1); };
  arm(kHour, 0);
  hand_back(0);
  hand_back(1);
  EXPECT_THAT(verdict(), HasSubstr("was pending to the end"));
}

// A fire ends the time in which its arming must have taken effect.
TEST_F(AuditTest, AnArmingThatHasFiredTookEffectBefore) {
  within_ = [&] {
    fire(0);
    arm(kHour, 1);
    cancel(false, 1);
  };
  arm(kDue, 0);
  EXPECT_THAT(verdict(), HasSubstr("cancel() returned false"));
}

// ---- Faults in a service that is sound otherwise, found amid all threads.

enum class Fault {
  none,
  loses_arming,
  fires_twice,
  fires_early,
  fires_other_id,
  swaps_deadlines,
  fires_after_cancel,
  fires_after_move,
  cancels_without_effect,
  denies_cancel,
  claims_cancel,
  forgets_on_stop,
  hands_back_twice,
  fires_after_stop,
  never_fires,
};

// One call or fire in 50 goes wrong; all, if it never fires.
class Faulty final : public AnyService {
 public:
  Faulty(Fault fault, ServiceConfig config)
      : fault_(fault), handler_(config.handler), deadlines_(config.capacity) {
    config.handler = [this](TimerId id, Tick deadline) { fired(id, deadline); };
    service_ = backend("locked_binary_heap").make(config);
  }

  void schedule(TimerId id, Tick deadline) override {
    run_late();
    const Tick before = deadlines_[id].exchange(deadline);
    if (fault_ == Fault::fires_after_move && before != 0 && go_wrong()) fire_late({id, before});
    if (fault_ == Fault::loses_arming && go_wrong()) return;
    if (fault_ == Fault::fires_early && go_wrong()) return handler_(id, deadline);
    if (fault_ == Fault::swaps_deadlines && go_wrong()) deadline = last_.exchange(deadline);
    if (fault_ == Fault::never_fires) deadline += kAge;
    service_->schedule(id, deadline);
  }

  bool cancel(TimerId id) override {
    run_late();
    if (fault_ == Fault::cancels_without_effect && go_wrong()) return true;
    const bool cancelled = service_->cancel(id);
    if (!cancelled) return fault_ == Fault::claims_cancel && go_wrong();
    if (fault_ == Fault::denies_cancel && go_wrong()) return false;
    if (fault_ == Fault::fires_after_cancel && go_wrong()) fire_late({id, deadlines_[id]});
    return true;
  }

  std::vector<PendingTimer> stop() override {
    auto pending = service_->stop();
    for (PendingTimer& timer : pending) timer.deadline %= kAge;
    if (fault_ == Fault::forgets_on_stop) pending.pop_back();
    if (fault_ == Fault::hands_back_twice) pending.push_back(pending.back());
    if (fault_ == Fault::fires_after_stop) {
      late_ = {pending.back()};
      pending.pop_back();
    }
    return pending;
  }

  ~Faulty() override { run_late(); }

  std::size_t size() const override { return service_->size(); }
  std::uint64_t failures() const override { return service_->failures(); }
  std::uint64_t wakeups() const override { return service_->wakeups(); }

 private:
  static constexpr Tick kAge = Tick{1} << 60;

  bool go_wrong() { return ++calls_ % 50 == 0; }

  void fired(TimerId id, Tick deadline) {
    if (fault_ == Fault::fires_other_id && go_wrong()) id ^= 1;
    handler_(id, deadline);
    if (fault_ == Fault::fires_twice && go_wrong()) handler_(id, deadline);
  }

  void fire_late(PendingTimer timer) {
    const std::lock_guard lock(mutex_);
    late_.push_back(timer);
  }

  void run_late() {
    const std::lock_guard lock(mutex_);
    for (const PendingTimer& timer : std::exchange(late_, {})) handler_(timer.id, timer.deadline);
  }

  const Fault fault_;
  const FireHandler handler_;
  std::vector<std::atomic<Tick>> deadlines_;
  std::atomic<Tick> last_ = 0;
  std::atomic<int> calls_ = 0;
  std::mutex mutex_;
  std::vector<PendingTimer> late_;
  std::unique_ptr<AnyService> service_;
};

ServiceBackend faulty(Fault fault) {
  ServiceBackend backend = timerbench::backend("locked_binary_heap");
  backend.make = [fault](const ServiceConfig& config) {
    return std::make_unique<Faulty>(fault, config);
  };
  return backend;
}

class FaultTest
    : public testing::TestWithParam<std::tuple<std::pair<Fault, std::string_view>, Pattern>> {};

TEST_P(FaultTest, IsFound) {
  const auto [one, pattern] = GetParam();
  const Fault fault = one.first;
  const ContentionFigures figures =
      run_until([&](const auto& found) { return found.failure.empty() == (fault == Fault::none); },
                {.pattern = pattern, .threads = 3, .timers = 300, .seconds = 0.2}, faulty(fault));
  if (fault == Fault::none) {
    EXPECT_EQ(figures.failure, "");
  } else {
    EXPECT_THAT(figures.failure, testing::StartsWith("wrong: "));
    EXPECT_EQ(figures.calls, 0U) << "measured all the same";
  }
}

constexpr std::pair<Fault, std::string_view> kFaults[] = {
    {Fault::none, "None"},
    {Fault::loses_arming, "LosesArming"},
    {Fault::fires_twice, "FiresTwice"},
    {Fault::fires_early, "FiresEarly"},
    {Fault::fires_other_id, "FiresOtherId"},
    {Fault::swaps_deadlines, "SwapsDeadlines"},
    {Fault::fires_after_cancel, "FiresAfterCancel"},
    {Fault::fires_after_move, "FiresAfterMove"},
    {Fault::cancels_without_effect, "CancelsWithoutEffect"},
    {Fault::denies_cancel, "DeniesCancel"},
    {Fault::claims_cancel, "ClaimsCancel"},
    {Fault::forgets_on_stop, "ForgetsOnStop"},
    {Fault::hands_back_twice, "HandsBackTwice"},
    {Fault::fires_after_stop, "FiresAfterStop"},
    {Fault::never_fires, "NeverFires"}};

INSTANTIATE_TEST_SUITE_P(, FaultTest,
                         testing::Combine(testing::ValuesIn(kFaults), testing::ValuesIn(kPatterns)),
                         [](const auto& test) {
                           return fmt::format("{}_{}", std::get<0>(test.param).second,
                                              name(std::get<1>(test.param)));
                         });

// ---- The patterns and the figures.

class ContentionTest : public testing::TestWithParam<std::tuple<ServiceBackend, Pattern, int>> {};

// What there is too little of to say more; empty if nothing.
std::string shortage(const ContentionFigures& figures, Pattern pattern) {
  constexpr std::uint64_t kFew = 10;
  // In `cross` every call arms a timer that is not pending, until the last moves what is still there.
  const std::uint64_t few_moves = pattern == Pattern::cross ? 0 : kFew;
  const struct {
    const char* name;
    std::uint64_t count, more_than;
  } counts[] = {{"timed schedules", figures.schedule.count(), 100},
                {"timed cancels", figures.cancel.count(), 100},
                {"fired", figures.audited.fired, kFew},
                {"cancelled", figures.audited.cancelled, kFew},
                {"moved", figures.audited.moved(), few_moves},
                {"pending", figures.audited.pending, kFew}};
  std::string text;
  for (const auto& [name, count, more_than] : counts) {
    if (count <= more_than) text += fmt::format("{} {}; ", count, name);
  }
  return text;
}

TEST_P(ContentionTest, HasFigures) {
  const auto& [service, pattern, threads] = GetParam();
  const bool is_remote = service.traits.remote;  // too few calls to say much
  const auto figures = run_until(
      [&](const auto& found) {
        return is_remote || !found.failure.empty() || shortage(found, pattern).empty();
      },
      {.pattern = pattern,
       .threads = static_cast<std::size_t>(threads),
       .timers = is_remote ? 80U : 4000U,
       .seconds = is_remote ? 1 : 0.2},
      service);
  ASSERT_EQ(figures.failure, "");
  EXPECT_GE(figures.seconds, 0.2);
  EXPECT_GT(figures.calls, 0U);
  if (is_remote) return;
  EXPECT_EQ(shortage(figures, pattern), "");
  EXPECT_GT(figures.calls, figures.armings);
  EXPECT_GT(figures.calls_per_second(), 100);
  EXPECT_GT(figures.cpu_ns_per_call(), 1);
  EXPECT_LE(figures.fired_share(), 0.1) << "time-outs are mostly cancelled";
  EXPECT_GT(figures.cancelled_share(), 0.1);
  EXPECT_GT(figures.clock_ns, 1);
}

INSTANTIATE_TEST_SUITE_P(, ContentionTest,
                         testing::Combine(testing::ValuesIn(services().begin(), services().end()),
                                          testing::ValuesIn(kPatterns), testing::Values(1, 4)),
                         [](const auto& test) {
                           return fmt::format("{}_{}_{}", std::get<0>(test.param).traits.name,
                                              name(std::get<1>(test.param)),
                                              std::get<2>(test.param));
                         });

TEST(DeadlinesTest, SomeTimersFireWhileTheyAreMeasured) {
  for (const Pattern pattern : {Pattern::own, Pattern::cross}) {
    const auto figures = run_until(
        [](const auto& found) { return found.fired > 0 || !found.failure.empty(); },
        {.pattern = pattern, .threads = 2, .seconds = 0.3}, backend("locked_binary_heap"));
    EXPECT_EQ(figures.failure, "");
    EXPECT_GT(figures.fired, 0U) << name(pattern);
  }
}

// Notes who calls; the arming and cancelling of an id by the threads of the audit's pass.
struct Watched final : AnyService {
  struct Seen {
    std::atomic<std::uint64_t> calls = 0;  // of the service that was made last
    std::atomic<std::uint64_t> same = 0;   // cancelled by the thread that armed it
    std::atomic<std::uint64_t> other = 0;  // by another
  };

  Watched(Seen& seen, const ServiceConfig& config)
      : seen(seen), armed_by(config.capacity), service(backend("locked_binary_heap").make(config)) {
    seen.calls = 0;
  }

  void schedule(TimerId id, Tick deadline) override {
    ++seen.calls;
    armed_by[id] = std::this_thread::get_id();
    service->schedule(id, deadline);
  }

  bool cancel(TimerId id) override {
    ++seen.calls;
    const auto by = armed_by[id].load();
    if (by == std::this_thread::get_id()) {
      ++seen.same;
    } else if (by != std::thread::id() && by != main) {
      ++seen.other;
    }
    return service->cancel(id);
  }

  std::vector<PendingTimer> stop() override { return service->stop(); }
  std::size_t size() const override { return service->size(); }
  std::uint64_t failures() const override { return service->failures(); }
  std::uint64_t wakeups() const override { return service->wakeups(); }

  Seen& seen;
  const std::thread::id main = std::this_thread::get_id();
  std::vector<std::atomic<std::thread::id>> armed_by;
  std::unique_ptr<AnyService> service;
};

ServiceBackend watched(Watched::Seen& seen) {
  ServiceBackend backend = timerbench::backend("locked_binary_heap");
  backend.make = [&seen](const ServiceConfig& config) {
    return std::make_unique<Watched>(seen, config);
  };
  return backend;
}

TEST(PatternTest, WhoCancelsWhatWhoHasArmed) {
  for (const Pattern pattern : kPatterns) {
    for (const std::size_t threads : {1U, 3U}) {
      const bool same = threads == 1 || pattern != Pattern::cross;
      const bool other = threads > 1 && pattern != Pattern::own;
      Watched::Seen seen;
      const auto figures = run_until(
          [&](const auto&) { return seen.same >= same && seen.other >= other; },
          {.pattern = pattern, .threads = threads, .timers = 100, .seconds = 0.1}, watched(seen));
      EXPECT_EQ(figures.failure, "");
      EXPECT_EQ(seen.same > 0, same) << name(pattern) << threads;
      EXPECT_EQ(seen.other > 0, other) << name(pattern) << threads;
    }
  }
}

TEST(SamplingTest, EveryCallOfARemoteServiceIsTimed) {
  Watched::Seen seen;
  ServiceBackend backend = watched(seen);
  const ContentionOptions options{.threads = 2, .timers = 100, .seconds = 0.1};
  auto figures = run_contention(options, backend, kNoStop);
  auto timed = figures.schedule.count() + figures.cancel.count();
  // The gaps are 1 to 63, at random: the sum of `timed` of them, and five of its deviations.
  EXPECT_NEAR(static_cast<double>(seen.calls), 32.0 * static_cast<double>(timed),
              5 * 18.2 * std::sqrt(static_cast<double>(timed)) + 32 * 4 + 100);

  backend.traits.remote = true;
  figures = run_contention(options, backend, kNoStop);
  timed = figures.schedule.count() + figures.cancel.count();
  EXPECT_EQ(seen.calls, timed + 100) << "those that were armed beforehand are not";
}

TEST(ControlTest, IsMeasuredUnaudited) {
  struct Idle final : AnyService {
    void schedule(TimerId, Tick) override {}
    bool cancel(TimerId) override { return false; }
    std::vector<PendingTimer> stop() override { return {}; }
    std::size_t size() const override { return 0; }
    std::uint64_t failures() const override { return 0; }
    std::uint64_t wakeups() const override { return 0; }
  };
  ServiceBackend control = backend("locked_binary_heap");
  control.traits.precision = Precision::none;
  control.make = [](const ServiceConfig&) { return std::make_unique<Idle>(); };
  const auto figures =
      run_until([](const auto& found) { return found.calls > 1000; }, {.seconds = 0.05}, control);
  EXPECT_EQ(figures.failure, "");
  EXPECT_GT(figures.calls, 1000U);
  EXPECT_EQ(figures.audited.armed, 0U);
}

TEST(ContentionErrorsTest, EndsSoonWhenItIsTold) {
  StopFlag stop = false;
  std::chrono::steady_clock::time_point told;
  std::jthread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    told = std::chrono::steady_clock::now();
    stop = true;
  });
  const auto figures =
      run_contention({.threads = 2, .seconds = 100}, backend("locked_binary_heap"), stop);
  user.join();
  EXPECT_THAT(figures.failure, testing::StartsWith("interrupted: "));
  EXPECT_LT(std::chrono::steady_clock::now() - told, std::chrono::seconds(3)) << "busy machine";
}

TEST(ContentionErrorsTest, WhatAServiceThrowsInAThreadEndsTheRun) {
  struct Lost final : AnyService {
    void schedule(TimerId, Tick) override { fail(); }
    bool cancel(TimerId) override { return fail(); }
    std::vector<PendingTimer> stop() override { return {}; }
    std::size_t size() const override { return 0; }
    std::uint64_t failures() const override { return 0; }
    std::uint64_t wakeups() const override { return 0; }

    bool fail() const {
      if (std::this_thread::get_id() != main) throw BackendError("connection lost");
      return false;
    }
    const std::thread::id main = std::this_thread::get_id();
  };
  ServiceBackend lost = backend("locked_binary_heap");
  lost.make = [](const ServiceConfig&) { return std::make_unique<Lost>(); };
  for (const Pattern pattern : kPatterns) {
    EXPECT_THROW(run_contention({.pattern = pattern, .threads = 4, .seconds = 100}, lost, kNoStop),
                 BackendError);
  }
}

// Threads that call a service all the time do so where it wants them to.
TEST(CallersTest, RunWhereTheServiceWants) {
  const ServiceBackend service = with_counted_callers(backend("locked_binary_heap"));
  run_contention({.threads = 2, .timers = 100, .seconds = 0.01}, service, kNoStop);
  EXPECT_EQ(counted_callers, 3 * 2) << "of the audit, of the throughput and of the latency";
}

}  // namespace
}  // namespace timerbench
