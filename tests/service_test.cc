// The contract of timer services, for each of the roster.
#include "realtime/service.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "median_of_five.h"
#include "named_services.h"
#include "queues/dary_heap.h"
#include "services/clock.h"
#include "services/locked.h"
#include "services/sharded.h"
#include "services/timer_service.h"
#include "verify/manual_scene.h"
#include "verify/service_audit.h"
#include "verify/service_contract.h"
#include "verify/system_clock_contract.h"

namespace timerbench {
namespace {

using ServiceAndScenario = std::tuple<std::string_view, ServiceScenario>;
using ContractTest = testing::TestWithParam<ServiceAndScenario>;

// Each service with the scenarios of its clock.
std::vector<ServiceAndScenario> all_scenarios() {
  std::vector<ServiceAndScenario> all;
  for (const ServiceBackend& service : services()) {
    const auto scenarios = service.traits.own_clock ? system_clock_contract() : service_contract();
    for (const ServiceScenario& scenario : scenarios)
      all.emplace_back(service.traits.name, scenario);
  }
  return all;
}

TEST_P(ContractTest, Holds) {
  const auto& [service, scenario] = GetParam();
  scenario.run(service_named(service));
}

std::string service_and_scenario(const testing::TestParamInfo<ServiceAndScenario>& info) {
  return fmt::format("{}_{}", std::get<0>(info.param), std::get<1>(info.param).name);
}

INSTANTIATE_TEST_SUITE_P(Service, ContractTest, testing::ValuesIn(all_scenarios()),
                         service_and_scenario);

// Services that sleep until there is work.
using TicklessTest = testing::TestWithParam<std::string_view>;
INSTANTIATE_TEST_SUITE_P(Service, TicklessTest,
                         testing::Values("locked_binary_heap", "locked_kafka_wheel_256",
                                         "locked_log_wheel_256", "java_timer", "delay_queue",
                                         "redis_poller", "sharded_4_locked_kafka_wheel_256",
                                         "sharded_4_locked_log_wheel_256"),
                         test_name);

TEST_P(TicklessTest, DoesNotWakeUpWhileItIsIdle) {
  const ServiceBackend& backend = service_named(GetParam());
  ManualScene scene;
  const auto service = backend.make(scene.config(backend.traits));
  scene.clock.settle();
  const auto empty = service->wakeups();
  scene.advance_to(500 * kMillisecond);
  EXPECT_EQ(service->wakeups(), empty);
  service->schedule(0, Tick{1} << 62);
  scene.clock.settle();
  const auto armed = service->wakeups();
  scene.advance_to(1000 * kMillisecond);
  EXPECT_EQ(service->wakeups(), armed);
}

TEST(ShardedTest, ShareTheHandlersThreads) {
  constexpr int kTimers = 12;
  std::atomic<int> running = 0;
  std::promise<void> release;
  const auto released = release.get_future().share();
  SteadyClock clock;
  Sharded<Locked<BinaryHeap>, 4> service({.capacity = kTimers,
                                          .clock = clock,
                                          .handler =
                                              [&](TimerId, Tick) {
                                                ++running;
                                                released.wait();
                                              },
                                          .threads = 6});
  for (TimerId id = 0; id < kTimers; ++id) service.schedule(id, 0);
  while (running < 8) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(running, 8) << "two each: six shared by four, rounded up";
  release.set_value();
}

class RealTimeTest : public testing::TestWithParam<std::string_view> {
 protected:
  const ServiceBackend& backend_ = service_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Service, RealTimeTest, testing::ValuesIn(names_of_all()), test_name);

class ManualTimeTest : public testing::TestWithParam<std::string_view> {
 protected:
  const ServiceBackend& backend_ = service_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Service, ManualTimeTest, testing::ValuesIn(names_without_own_clock()),
                         test_name);

TEST_P(RealTimeTest, StopDoesNotWaitForATimerAnHourAway) {
  for (const Waiting waiting : kWaitings) {
    SteadyClock clock(waiting);
    std::unique_ptr<AnyService> service;
    const auto time = median_of_five([&] {
      service = backend_.make({.capacity = 1, .clock = clock, .handler = [](TimerId, Tick) {}});
      service->schedule(0, clock.now() + kHour);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return [&] { EXPECT_EQ(service->stop().size(), 1U); };
    });
    EXPECT_LT(time, std::chrono::seconds(1)) << name(waiting);
  }
}

TEST_P(RealTimeTest, CanBeDestroyedWithoutBeingStopped) {
  std::atomic<int> fired = 0;
  SteadyClock clock;
  std::unique_ptr<AnyService> service;
  const auto time = median_of_five([&] {
    service =
        backend_.make({.capacity = 2, .clock = clock, .handler = [&](TimerId, Tick) { ++fired; }});
    service->schedule(0, clock.now() + kHour);
    service->schedule(1, clock.now() + kMillisecond);
    return [&] { service.reset(); };
  });
  EXPECT_LT(time, std::chrono::seconds(1));
  const int so_far = fired;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(fired, so_far);
}

// Trap: what is left of a millisecond, rounded down, makes a thread look again and again.
TEST_P(RealTimeTest, SleepsThroughTheLastPartOfAMillisecond) {
  for (const Waiting waiting : kWaitings) {
    SteadyClock clock(waiting);
    std::atomic<bool> fired = false;
    const auto service =
        backend_.make({.capacity = 1, .clock = clock, .handler = [&](TimerId, Tick) {
                         fired = true;
                         fired.notify_all();
                       }});
    const Tick begin = clock.now();
    service->schedule(0, (begin / kMillisecond + 6) * kMillisecond + kMillisecond * 9 / 10);
    fired.wait(false);
    const Tick granules = (clock.now() - begin) / kMillisecond + 1;
    constexpr Tick kMost = 4;  // of a service that starts one for each timer that is due
    const Tick threads = std::clamp<Tick>(backend_.traits.threads, 1, kMost);
    EXPECT_LE(service->wakeups(), 8 * threads + granules) << name(waiting);
  }
}

struct OwnedTimer {
  std::optional<std::size_t> arming;  // the last operation that armed it
  bool cancelled = false;             // since then
};

// Four threads, each with timers of its own that it arms, moves and cancels at random. The last
// digits of a deadline say which operation armed it, so that every fire can be told from every
// other.
void expect_every_arming_to_end_once(const ServiceBackend& backend, Clock& clock, Tick farthest,
                                     std::optional<std::size_t> handler_threads = {}) {
  constexpr std::size_t kThreads = 4;
  const std::size_t operations = backend.traits.remote ? 2'500 : 250'000;  // of each
  constexpr TimerId kTimers = 64;                                          // of each
  const Tick room = kThreads * operations;
  std::vector<std::atomic<std::uint8_t>> fired(room);
  std::atomic<int> early = 0;
  const auto service = backend.make({.capacity = kThreads * kTimers,
                                     .clock = clock,
                                     .handler =
                                         [&](TimerId, Tick deadline) {
                                           if (clock.now() < deadline) ++early;
                                           ++fired[deadline % room];
                                         },
                                     .threads = handler_threads});

  std::vector<OwnedTimer> timers(kThreads * kTimers);
  std::vector<std::size_t> prevented[kThreads];  // armings that cancel() says it ended
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::minstd_rand random(static_cast<unsigned>(thread + 1));
      for (std::size_t i = 0; i < operations; ++i) {
        const auto id = static_cast<TimerId>(thread * kTimers + random() % kTimers);
        OwnedTimer& timer = timers[id];
        if (random() % 4 == 0) {
          if (service->cancel(id)) {
            timer.cancelled = true;
            prevented[thread].push_back(timer.arming.value());
          }
        } else {
          const std::size_t arming = thread * operations + i;
          const Tick deadline = clock.now() + random() % farthest;
          service->schedule(id, (deadline / room + 1) * room + arming);
          timer = {.arming = arming, .cancelled = false};
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));

  std::vector<int> pending(timers.size());
  for (const PendingTimer& timer : service->stop()) {
    ++pending[timer.id];
    EXPECT_EQ(timer.deadline % room, timers[timer.id].arming);
  }
  EXPECT_EQ(early, 0);
  EXPECT_EQ(std::count_if(fired.begin(), fired.end(), [](const auto& n) { return n > 1; }), 0);
  for (const auto& armings : prevented) {
    for (const std::size_t arming : armings) EXPECT_EQ(fired[arming], 0) << "cancelled, and fired";
  }
  for (TimerId id = 0; id < timers.size(); ++id) {
    const OwnedTimer& timer = timers[id];
    const int was_fired = timer.arming ? fired[*timer.arming].load() : 0;
    EXPECT_EQ(was_fired + timer.cancelled + pending[id], timer.arming ? 1 : 0) << id;
  }
}

TEST_P(RealTimeTest, PassesTheAudits) {
  const StopFlag never = false;
  for (const ServiceAudit& audit : service_audits()) {
    EXPECT_EQ(audit.run(backend_, {.seconds = 0.2}, never), std::nullopt) << audit.name;
  }
}

// So that a slow stop on a busy machine is not taken for one that hangs.
TEST_P(RealTimeTest, TheAuditOfStoppingShowsProgressAfterEachStop) {
  const StopFlag never = false;
  int signs = 0;
  for (const ServiceAudit& audit : service_audits()) {
    if (audit.name != "stop") continue;
    audit.run(backend_, {.seconds = 0.03, .progress = [&signs] { ++signs; }}, never);
  }
  EXPECT_EQ(signs, 3);
}

TEST_P(RealTimeTest, EveryArmingEndsOnceUnderStress) {
  SteadyClock clock;
  expect_every_arming_to_end_once(backend_, clock, 3 * kMillisecond);
}

TEST_P(RealTimeTest, EveryArmingEndsOnceUnderStressWithThreeHandlerThreads) {
  SteadyClock clock;
  expect_every_arming_to_end_once(backend_, clock, 3 * kMillisecond, 3);
}

// Time that passes a thousand times as fast, while this exists.
class FastTime {
 public:
  explicit FastTime(ManualClock& clock)
      : thread_([&clock](const std::stop_token& ending) {
          while (!ending.stop_requested()) {
            clock.set(clock.now() + kMillisecond);
            std::this_thread::yield();
          }
        }) {}

 private:
  std::jthread thread_;
};

// Traps: timers of a wheel are cancelled and moved while they descend from level to level.
TEST_P(ManualTimeTest, EveryArmingEndsOnceWhileTimersDescend) {
  ManualClock clock;
  const FastTime time(clock);
  expect_every_arming_to_end_once(backend_, clock, 10'000 * kMillisecond);
}

// Threads arm timers for now while the driver looks. One that is put behind the hand of a ring waits
// for another round, 2.5 s; the machine is not that busy.
TEST_P(RealTimeTest, WhatIsArmedWhileTheDriverLooksIsDueInItsTurn) {
  constexpr TimerId kThreads = 4;
#ifdef __SANITIZE_THREAD__
  constexpr TimerId kMost = 25'000;  // where every arming costs ten times as much
#else
  constexpr TimerId kMost = 250'000;
#endif
  // Of each. The kernel allows only so many files and signals.
  const TimerId timers = backend_.traits.remote || backend_.traits.is_library ? 500 : kMost;
  SteadyClock clock;
  const auto service = backend_.make({.capacity = kThreads * timers,
                                      .clock = clock,
                                      .handler = [](TimerId, Tick) {},
                                      .granularity = 5 * kMillisecond});
  std::vector<std::jthread> threads;
  for (TimerId thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (TimerId i = 0; i < timers; ++i) service->schedule(thread * timers + i, clock.now());
    });
  }
  threads.clear();
  Tick progress = clock.now();
  for (std::size_t left = service->size(); left > 0;) {
    ASSERT_LT(clock.now(), progress + 1500 * kMillisecond) << left << " wait for another round";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (std::exchange(left, service->size()) != left) progress = clock.now();
  }
}

// A timer that one thread moves all the time is pending all the time: another's cancel prevents it.
TEST_P(ManualTimeTest, CancelMeetsATimerThatIsBeingMoved) {
  const int cancels = backend_.traits.remote ? 300 : 20'000;
  const auto long_enough = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  ManualClock clock;
  const auto service =
      backend_.make({.capacity = 1, .clock = clock, .handler = [](TimerId, Tick) {}});
  std::atomic<std::uint64_t> moves = 0;
  {
    const std::jthread moving([&](const std::stop_token& ending) {
      for (; !ending.stop_requested(); ++moves) service->schedule(0, kHour + moves % 1000);
    });
    // On a busy machine each costs a slice of its processor's time, so that there are fewer.
    for (int i = 0; i < cancels && std::chrono::steady_clock::now() < long_enough; ++i) {
      // The second has begun after the last cancel.
      for (const auto before = moves.load(); moves < before + 2;) std::this_thread::yield();
      ASSERT_TRUE(service->cancel(0)) << "after " << i;
    }
  }
  service->schedule(0, kHour);
  EXPECT_EQ(service->size(), 1U);
  EXPECT_TRUE(service->cancel(0));
  EXPECT_EQ(service->size(), 0U);
}

// Trap: four threads arm, move and cancel the same few timers while these descend. When all are
// cancelled none is left, neither counted nor to be fired.
TEST_P(ManualTimeTest, NothingIsLeftWhenWhatManyThreadsArmedIsCancelled) {
  constexpr TimerId kTimers = 16;
  const int operations = backend_.traits.remote ? 1'000 : 50'000;  // of each thread
  ManualClock clock;
  std::atomic<std::uint64_t> fired = 0;
  const auto service = backend_.make(
      {.capacity = kTimers, .clock = clock, .handler = [&](TimerId, Tick) { ++fired; }});
  {
    const FastTime time(clock);
    std::vector<std::jthread> threads;
    for (unsigned seed = 1; seed <= 4; ++seed) {
      threads.emplace_back([&, seed] {
        std::minstd_rand random(seed);
        for (int i = 0; i < operations || fired < 10; ++i) {
          const auto id = static_cast<TimerId>(random() % kTimers);
          if (random() % 2 == 0) {
            service->cancel(id);
          } else {
            service->schedule(id, clock.now() + (Tick{1} << random() % 34));
          }
        }
      });
    }
    threads.clear();
    for (TimerId id = 0; id < kTimers; ++id) service->cancel(id);
    EXPECT_EQ(service->size(), 0U);
  }
  clock.settle();
  const std::uint64_t so_far = fired;
  clock.set(clock.now() + kHour);
  clock.settle();
  EXPECT_EQ(fired, so_far);
  EXPECT_EQ(service->stop().size(), 0U);
}

}  // namespace
}  // namespace timerbench
