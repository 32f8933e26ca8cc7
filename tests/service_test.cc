// The contract of timer services, for each of the roster.
#include "realtime/service.h"

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
#include <utility>
#include <vector>

#include "median_of_five.h"
#include "named_services.h"
#include "queues/dary_heap.h"
#include "service_fixture.h"
#include "services/clock.h"
#include "services/locked.h"
#include "services/sharded.h"
#include "services/timer_service.h"

namespace timerbench {
namespace {

class ContractTest : public FiresTest, public testing::WithParamInterface<std::string_view> {
 protected:
  const ServiceBackend& backend_ = service_named(GetParam());
  const std::unique_ptr<AnyService> made_ = backend_.make(config(backend_.traits));
  AnyService& service_ = *made_;
};
INSTANTIATE_TEST_SUITE_P(Service, ContractTest, testing::ValuesIn(names_of_all()), test_name);

TEST_P(ContractTest, FiresWhenItIsTimeAndNotBefore) {
  service_.schedule(3, 5 * kMillisecond);
  service_.schedule(4, 7 * kMillisecond);
  EXPECT_EQ(service_.size(), 2U);
  advance_to(5 * kMillisecond - 1);
  EXPECT_EQ(fires(), Fires{});
  advance_to(6 * kMillisecond);
  EXPECT_EQ(fires(), (Fires{{3, 5 * kMillisecond}}));
  advance_to(20 * kMillisecond);
  EXPECT_EQ(fires(), (Fires{{4, 7 * kMillisecond}}));
  EXPECT_EQ(service_.size(), 0U);
}

TEST_P(ContractTest, MovesWhileTheDriverSleeps) {
  service_.schedule(1, kHour);
  service_.schedule(2, 2 * kMillisecond);
  clock_.settle();
  service_.schedule(1, 4 * kMillisecond);
  service_.schedule(2, kHour);
  advance_to(10 * kMillisecond);
  EXPECT_EQ(fires(), (Fires{{1, 4 * kMillisecond}}));
  EXPECT_EQ(service_.size(), 1U);
}

TEST_P(ContractTest, TakesEveryDeadline) {
  advance_to(3 * kMillisecond);
  const Tick far[] = {Tick{1} << 53, Tick{1} << 63, kNever - kMillisecond, kNever - 1};
  for (TimerId id = 0; id < std::size(far); ++id) service_.schedule(id, far[id]);
  service_.schedule(10, 0);
  service_.schedule(11, kMillisecond);
  service_.schedule(12, 3 * kMillisecond);
  advance_to(5 * kMillisecond);
  EXPECT_EQ(fires(), (Fires{{10, 0}, {11, kMillisecond}, {12, 3 * kMillisecond}}));
  EXPECT_EQ(service_.size(), std::size(far));
}

TEST_P(ContractTest, WaitsForTheEndOfTimeAndSleepsThere) {
  service_.schedule(1, kNever - 70 * kMillisecond);
  service_.schedule(2, kNever - 1);
  clock_.settle();
  clock_.set(kNever - 50 * kMillisecond);  // nearer than any driver's longest sleep
  EXPECT_EQ(fires(), (Fires{{1, kNever - 70 * kMillisecond}}));
  clock_.set(kNever - 1);
  EXPECT_EQ(fires(), (Fires{{2, kNever - 1}}));
  EXPECT_EQ(service_.size(), 0U);
  const std::uint64_t wakeups = service_.wakeups();
  clock_.settle();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(service_.wakeups(), wakeups);
}

TEST_P(ContractTest, TakesGranulesOfANanosecondToTheEndOfTime) {
  ManualClock clock;
  clock.set(kNever - 2'000);
  std::vector<TimerId> fired;
  ServiceConfig fine = config(backend_.traits);
  const auto service = backend_.make({.capacity = 16,
                                      .clock = clock,
                                      .handler = [&](TimerId id, Tick) { fired.push_back(id); },
                                      .granularity = backend_.traits.remote ? fine.granularity : 1,
                                      .threads = fine.threads});
  const std::pair<Tick, Tick> deadlines_and_instants[] = {
      {kNever - 3'000, kNever - 1'900}, {kNever - 750, kNever - 500}, {kNever - 333, kNever - 1}};
  TimerId next = 0;
  for (const auto& [deadline, instant] : deadlines_and_instants)
    service->schedule(next++, deadline);
  std::vector<TimerId> expected;
  for (const auto& [deadline, instant] : deadlines_and_instants) {
    clock.settle();
    clock.set(instant);
    clock.settle();
    expected.push_back(static_cast<TimerId>(expected.size()));
    if (backend_.traits.remote) continue;  // Redis has steps of 4 us there
    EXPECT_EQ(fired, expected);
  }
  EXPECT_EQ(fired.size(), 3U);
  EXPECT_EQ(service->size(), 0U);
}

TEST_P(ContractTest, CancelTellsWhetherItPreventedTheFire) {
  EXPECT_FALSE(service_.cancel(1)) << "never armed";
  service_.schedule(1, 2 * kMillisecond);
  service_.schedule(2, 2 * kMillisecond);
  EXPECT_TRUE(service_.cancel(1));
  EXPECT_FALSE(service_.cancel(1)) << "cancelled";
  advance_to(5 * kMillisecond);
  EXPECT_EQ(fires(), (Fires{{2, 2 * kMillisecond}}));
  EXPECT_FALSE(service_.cancel(2)) << "fired";
}

TEST_P(ContractTest, TheHandlerMaySchedule) {
  on_fire_ = [&](TimerId id) {
    if (clock_.now() < 8 * kMillisecond) {
      service_.schedule(id, clock_.now() + 2 * kMillisecond);
    }
  };
  service_.schedule(5, 2 * kMillisecond);
  advance_to(20 * kMillisecond);
  EXPECT_EQ(fires().size(), 4U);
}

TEST_P(ContractTest, TheHandlerMayCancelAndMoveWhatIsDueWithIt) {
  // Of one shard, whatever their number.
  constexpr TimerId kOne = 0;
  constexpr TimerId kOther = 8;
  const auto other = [](TimerId id) { return id == kOne ? kOther : kOne; };
  bool cancelled = false;
  on_fire_ = [&](TimerId id) { cancelled = service_.cancel(other(id)); };
  service_.schedule(kOne, 2 * kMillisecond);
  service_.schedule(kOther, 2 * kMillisecond);
  advance_to(4 * kMillisecond);
  EXPECT_EQ(fires().size(), 1U);
  EXPECT_TRUE(cancelled);

  on_fire_ = [&](TimerId id) { service_.schedule(other(id), kHour); };
  service_.schedule(kOne, 6 * kMillisecond);
  service_.schedule(kOther, 6 * kMillisecond);
  advance_to(8 * kMillisecond);
  EXPECT_EQ(fires().size(), 1U);
  EXPECT_EQ(service_.size(), 1U);
}

TEST_P(ContractTest, AHandlerThatThrowsIsCountedAndHurtsNoOther) {
  on_fire_ = [](TimerId id) {
    if (id == 1) throw std::runtime_error("on purpose");
  };
  for (const TimerId id : {0U, 1U, 2U}) service_.schedule(id, 2 * kMillisecond);
  service_.schedule(3, 4 * kMillisecond);
  advance_to(6 * kMillisecond);
  EXPECT_EQ(service_.failures(), 1U);
  if (backend_.traits.name == "java_timer") {  // the original's behaviour is the point
    EXPECT_THROW(service_.schedule(4, 0), ServiceStopped);
    const std::size_t fired = fires().size();
    EXPECT_LE(fired, 3U);
    EXPECT_EQ(fired + service_.stop().size(), 4U);
  } else {
    EXPECT_EQ(fires().size(), 4U);
  }
}

TEST_P(ContractTest, StopHandsBackWhatWasPendingAndEndsTheService) {
  service_.schedule(1, kHour);
  service_.schedule(2, kNever - 1);
  service_.schedule(3, 2 * kMillisecond);
  service_.schedule(4, kHour);
  service_.cancel(4);
  advance_to(4 * kMillisecond);
  auto pending = service_.stop();
  std::ranges::sort(pending, {}, &PendingTimer::id);
  EXPECT_EQ(pending, (Fires{{1, kHour}, {2, kNever - 1}}));
  EXPECT_EQ(service_.size(), 0U);
  EXPECT_TRUE(service_.stop().empty());
  EXPECT_THROW(service_.schedule(5, 0), ServiceStopped);
  EXPECT_FALSE(service_.cancel(1));
  clock_.set(2 * kHour);
  EXPECT_EQ(fires_, (Fires{{3, 2 * kMillisecond}}));
}

TEST_P(ContractTest, TheHandlerMayStop) {
  std::promise<void> begun;
  std::promise<Fires> handed_back;
  on_fire_ = [&](TimerId) {
    begun.set_value();
    handed_back.set_value(service_.stop());
  };
  for (const TimerId id : {0U, 4U, 8U}) service_.schedule(id, 2 * kMillisecond);
  clock_.settle();
  clock_.set(4 * kMillisecond);
  begun.get_future().wait();
  std::size_t pending = service_.stop().size();  // at the same time, by another thread
  pending += handed_back.get_future().get().size();
  EXPECT_EQ(fires_.size(), 1U);
  EXPECT_EQ(pending, 2U);
}

TEST_P(ContractTest, StopWaitsForTheHandlerThatRunsAndStartsNoOther) {
  std::atomic<bool> runs = false;
  std::atomic<bool> ended = false;
  on_fire_ = [&](TimerId) {
    try {
      for (;; runs = true) service_.schedule(9, kHour);
    } catch (const ServiceStopped&) {  // stop() has been called
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ended = true;
    }
  };
  for (const TimerId id : {0U, 4U, 8U}) service_.schedule(id, 2 * kMillisecond);
  clock_.settle();
  clock_.set(4 * kMillisecond);
  while (!runs) std::this_thread::yield();
  const auto pending = service_.stop();
  EXPECT_TRUE(ended);
  EXPECT_EQ(fires_.size(), 1U);
  EXPECT_EQ(pending.size(), 3U) << "two that were due, and 9";
}

// Vectors V2 and V17: each at its own millisecond, whichever level it comes from.
TEST_P(ContractTest, FiresAtItsMillisecond) {
  const Tick delays[] = {1, 2, 3, 9, 19, 20, 21, 25, 27, 39, 40, 399, 400, 401, 405, 420};
  for (TimerId id = 0; id < std::size(delays); ++id) {
    service_.schedule(id, delays[id] * kMillisecond);
  }
  TimerId next = 0;
  for (Tick now = 1; now <= 421; ++now) {
    advance_to(now * kMillisecond);
    const bool is_due = next < std::size(delays) && delays[next] == now;
    EXPECT_EQ(fires(), is_due ? (Fires{{next, now * kMillisecond}}) : Fires{}) << now;
    next += is_due;
  }
}

// Vector V15: one look after a long time finds all that is due, be it several rounds of a ring.
TEST_P(ContractTest, CatchesUpAtOnce) {
  const Tick delays[] = {500, 30, 10, 511, 512, 513, 1024, 8421, 99'999};
  for (TimerId id = 0; id < std::size(delays); ++id) {
    service_.schedule(id, delays[id] * kMillisecond);
  }
  clock_.settle();
  clock_.set(100'000 * kMillisecond);
  EXPECT_EQ(fires().size(), std::size(delays));
}

// Services that sleep until there is work.
using TicklessTest = ContractTest;
INSTANTIATE_TEST_SUITE_P(Service, TicklessTest,
                         testing::Values("locked_binary_heap", "locked_kafka_wheel_256",
                                         "java_timer", "delay_queue", "redis_poller",
                                         "sharded_4_locked_kafka_wheel_256"),
                         test_name);

TEST_P(TicklessTest, DoesNotWakeUpWhileItIsIdle) {
  clock_.settle();
  const auto empty = service_.wakeups();
  advance_to(500 * kMillisecond);
  EXPECT_EQ(service_.wakeups(), empty);
  service_.schedule(0, Tick{1} << 62);
  clock_.settle();
  const auto armed = service_.wakeups();
  advance_to(1000 * kMillisecond);
  EXPECT_EQ(service_.wakeups(), armed);
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
    EXPECT_LT(time, std::chrono::milliseconds(50)) << name(waiting);
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
  EXPECT_LT(time, std::chrono::milliseconds(50));
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
    EXPECT_LE(service->wakeups(), 8 + granules) << name(waiting);
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
TEST_P(RealTimeTest, EveryArmingEndsOnceWhileTimersDescend) {
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
  const TimerId timers = backend_.traits.remote ? 500 : kMost;  // of each
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
TEST_P(RealTimeTest, CancelMeetsATimerThatIsBeingMoved) {
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
TEST_P(RealTimeTest, NothingIsLeftWhenWhatManyThreadsArmedIsCancelled) {
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
