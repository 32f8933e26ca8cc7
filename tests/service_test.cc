// The contract of timer services, for each of the roster.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "service_fixture.h"
#include "services/clock.h"
#include "services/roster.h"
#include "services/timer_service.h"

namespace timerbench {
namespace {

template <class List>
struct AsTestTypes;
template <class... Services>
struct AsTestTypes<TypeList<Services...>> {
  using type = testing::Types<Services...>;
};

struct ServiceNames {
  template <class Service>
  static std::string GetName(int) {
    return std::string(Service::traits.name);
  }
};

TYPED_TEST_SUITE(ServiceTest, typename AsTestTypes<ServiceRoster>::type, ServiceNames);

TYPED_TEST(ServiceTest, FiresWhenItIsTimeAndNotBefore) {
  this->service_.schedule(3, 5 * kMillisecond);
  this->service_.schedule(4, 7 * kMillisecond);
  EXPECT_EQ(this->service_.size(), 2U);
  this->advance_to(5 * kMillisecond - 1);
  EXPECT_EQ(this->fires(), Fires{});
  this->advance_to(6 * kMillisecond);
  EXPECT_EQ(this->fires(), (Fires{{3, 5 * kMillisecond}}));
  this->advance_to(20 * kMillisecond);
  EXPECT_EQ(this->fires(), (Fires{{4, 7 * kMillisecond}}));
  EXPECT_EQ(this->service_.size(), 0U);
}

TYPED_TEST(ServiceTest, MovesWhileTheDriverSleeps) {
  this->service_.schedule(1, kHour);
  this->service_.schedule(2, 2 * kMillisecond);
  this->clock_.settle();
  this->service_.schedule(1, 4 * kMillisecond);
  this->service_.schedule(2, kHour);
  this->advance_to(10 * kMillisecond);
  EXPECT_EQ(this->fires(), (Fires{{1, 4 * kMillisecond}}));
  EXPECT_EQ(this->service_.size(), 1U);
}

TYPED_TEST(ServiceTest, TakesEveryDeadline) {
  this->advance_to(3 * kMillisecond);
  const Tick far[] = {Tick{1} << 53, Tick{1} << 63, kNever - kMillisecond, kNever - 1};
  for (TimerId id = 0; id < std::size(far); ++id) this->service_.schedule(id, far[id]);
  this->service_.schedule(10, 0);
  this->service_.schedule(11, kMillisecond);
  this->service_.schedule(12, 3 * kMillisecond);
  this->advance_to(5 * kMillisecond);
  EXPECT_EQ(this->fires(), (Fires{{10, 0}, {11, kMillisecond}, {12, 3 * kMillisecond}}));
  EXPECT_EQ(this->service_.size(), std::size(far));
}

TYPED_TEST(ServiceTest, CancelTellsWhetherItPreventedTheFire) {
  EXPECT_FALSE(this->service_.cancel(1)) << "never armed";
  this->service_.schedule(1, 2 * kMillisecond);
  this->service_.schedule(2, 2 * kMillisecond);
  EXPECT_TRUE(this->service_.cancel(1));
  EXPECT_FALSE(this->service_.cancel(1)) << "cancelled";
  this->advance_to(5 * kMillisecond);
  EXPECT_EQ(this->fires(), (Fires{{2, 2 * kMillisecond}}));
  EXPECT_FALSE(this->service_.cancel(2)) << "fired";
}

TYPED_TEST(ServiceTest, TheHandlerMaySchedule) {
  this->on_fire_ = [&](TimerId id) {
    if (this->clock_.now() < 8 * kMillisecond) {
      this->service_.schedule(id, this->clock_.now() + 2 * kMillisecond);
    }
  };
  this->service_.schedule(5, 2 * kMillisecond);
  this->advance_to(20 * kMillisecond);
  EXPECT_EQ(this->fires().size(), 4U);
}

TYPED_TEST(ServiceTest, TheHandlerMayCancelAndMoveWhatIsDueWithIt) {
  // Of one shard, whatever their number.
  constexpr TimerId kOne = 0;
  constexpr TimerId kOther = 8;
  const auto other = [](TimerId id) { return id == kOne ? kOther : kOne; };
  bool cancelled = false;
  this->on_fire_ = [&](TimerId id) { cancelled = this->service_.cancel(other(id)); };
  this->service_.schedule(kOne, 2 * kMillisecond);
  this->service_.schedule(kOther, 2 * kMillisecond);
  this->advance_to(4 * kMillisecond);
  EXPECT_EQ(this->fires().size(), 1U);
  EXPECT_TRUE(cancelled);

  this->on_fire_ = [&](TimerId id) { this->service_.schedule(other(id), kHour); };
  this->service_.schedule(kOne, 6 * kMillisecond);
  this->service_.schedule(kOther, 6 * kMillisecond);
  this->advance_to(8 * kMillisecond);
  EXPECT_EQ(this->fires().size(), 1U);
  EXPECT_EQ(this->service_.size(), 1U);
}

TYPED_TEST(ServiceTest, AHandlerThatThrowsIsCountedAndHurtsNoOther) {
  this->on_fire_ = [](TimerId id) {
    if (id == 1) throw std::runtime_error("on purpose");
  };
  for (const TimerId id : {0U, 1U, 2U}) this->service_.schedule(id, 2 * kMillisecond);
  this->service_.schedule(3, 4 * kMillisecond);
  this->advance_to(6 * kMillisecond);
  EXPECT_EQ(this->service_.failures(), 1U);
  if constexpr (std::is_same_v<TypeParam, JavaTimer>) {  // the original's behaviour is the point
    EXPECT_THROW(this->service_.schedule(4, 0), ServiceStopped);
    const std::size_t fired = this->fires().size();
    EXPECT_LE(fired, 3U);
    EXPECT_EQ(fired + this->service_.stop().size(), 4U);
  } else {
    EXPECT_EQ(this->fires().size(), 4U);
  }
}

TYPED_TEST(ServiceTest, StopHandsBackWhatWasPendingAndEndsTheService) {
  this->service_.schedule(1, kHour);
  this->service_.schedule(2, kNever - 1);
  this->service_.schedule(3, 2 * kMillisecond);
  this->service_.schedule(4, kHour);
  this->service_.cancel(4);
  this->advance_to(4 * kMillisecond);
  auto pending = this->service_.stop();
  std::ranges::sort(pending, {}, &PendingTimer::id);
  EXPECT_EQ(pending, (Fires{{1, kHour}, {2, kNever - 1}}));
  EXPECT_EQ(this->service_.size(), 0U);
  EXPECT_TRUE(this->service_.stop().empty());
  EXPECT_THROW(this->service_.schedule(5, 0), ServiceStopped);
  EXPECT_FALSE(this->service_.cancel(1));
  this->clock_.set(2 * kHour);
  EXPECT_EQ(this->fires_, (Fires{{3, 2 * kMillisecond}}));
}

TYPED_TEST(ServiceTest, TheHandlerMayStop) {
  std::promise<Fires> handed_back;
  this->on_fire_ = [&](TimerId) { handed_back.set_value(this->service_.stop()); };
  for (const TimerId id : {0U, 4U, 8U}) this->service_.schedule(id, 2 * kMillisecond);
  this->clock_.settle();
  this->clock_.set(4 * kMillisecond);
  this->clock_.set(5 * kMillisecond);
  std::size_t pending = this->service_.stop().size();  // at the same time, by another thread
  ASSERT_LE(this->fires_.size(), 1U);
  if (!this->fires_.empty()) pending += handed_back.get_future().get().size();
  EXPECT_EQ(this->fires_.size() + pending, 3U);
}

TYPED_TEST(ServiceTest, StopWaitsForTheHandlerThatRunsAndStartsNoOther) {
  std::atomic<bool> runs = false;
  std::atomic<bool> ended = false;
  this->on_fire_ = [&](TimerId) {
    runs = true;
    try {
      for (;;) this->service_.schedule(9, kHour);
    } catch (const ServiceStopped&) {  // stop() has been called
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ended = true;
    }
  };
  for (const TimerId id : {0U, 4U, 8U}) this->service_.schedule(id, 2 * kMillisecond);
  this->clock_.settle();
  this->clock_.set(4 * kMillisecond);
  while (!runs) std::this_thread::yield();
  const auto pending = this->service_.stop();
  EXPECT_TRUE(ended);
  EXPECT_EQ(this->fires_.size(), 1U);
  EXPECT_EQ(pending.size(), 3U) << "two that were due, and 9";
}

// Vectors V2 and V17: each at its own millisecond, whichever level it comes from.
TYPED_TEST(ServiceTest, FiresAtItsMillisecond) {
  const Tick delays[] = {1, 2, 3, 9, 19, 20, 21, 25, 27, 39, 40, 399, 400, 401, 405, 420};
  for (TimerId id = 0; id < std::size(delays); ++id) {
    this->service_.schedule(id, delays[id] * kMillisecond);
  }
  TimerId next = 0;
  for (Tick now = 1; now <= 421; ++now) {
    this->advance_to(now * kMillisecond);
    const bool is_due = next < std::size(delays) && delays[next] == now;
    EXPECT_EQ(this->fires(), is_due ? (Fires{{next, now * kMillisecond}}) : Fires{}) << now;
    next += is_due;
  }
}

// Vector V15: one look after a long time finds all that is due, be it several rounds of a ring.
TYPED_TEST(ServiceTest, CatchesUpAtOnce) {
  const Tick delays[] = {500, 30, 10, 511, 512, 513, 1024, 8421, 99'999};
  for (TimerId id = 0; id < std::size(delays); ++id) {
    this->service_.schedule(id, delays[id] * kMillisecond);
  }
  this->clock_.settle();
  this->clock_.set(100'000 * kMillisecond);
  EXPECT_EQ(this->fires().size(), std::size(delays));
}

// Services that sleep until there is work.
template <class Service>
class TicklessServiceTest : public ServiceTest<Service> {};
using Tickless = testing::Types<Locked<BinaryHeap>, Locked<KafkaWheel<256>>, JavaTimer, DelayQueue,
                                RedisPoller, Sharded<Locked<KafkaWheel<256>>, 4>>;
TYPED_TEST_SUITE(TicklessServiceTest, Tickless, ServiceNames);

TYPED_TEST(TicklessServiceTest, DoesNotWakeUpWhileItIsIdle) {
  this->clock_.settle();
  const auto empty = this->service_.wakeups();
  this->advance_to(500 * kMillisecond);
  EXPECT_EQ(this->service_.wakeups(), empty);
  this->service_.schedule(0, Tick{1} << 62);
  this->clock_.settle();
  const auto armed = this->service_.wakeups();
  this->advance_to(1000 * kMillisecond);
  EXPECT_EQ(this->service_.wakeups(), armed);
}

template <class Service>
class RealTimeServiceTest : public testing::Test {};
TYPED_TEST_SUITE(RealTimeServiceTest, typename AsTestTypes<ServiceRoster>::type, ServiceNames);

TYPED_TEST(RealTimeServiceTest, StopDoesNotWaitForATimerAnHourAway) {
  auto shortest = std::chrono::steady_clock::duration::max();
  for (int attempt = 0; attempt < 5; ++attempt) {  // the machine may be busy for a moment
    SteadyClock clock;
    TypeParam service({.capacity = 1, .clock = clock, .handler = [](TimerId, Tick) {}});
    service.schedule(0, clock.now() + kHour);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(service.stop().size(), 1U);
    shortest = std::min(shortest, std::chrono::steady_clock::now() - before);
  }
  EXPECT_LT(shortest, std::chrono::milliseconds(50));
}

struct OwnedTimer {
  std::optional<std::size_t> arming;  // the last operation that armed it
  bool cancelled = false;             // since then
};

// Four threads, each with timers of its own that it arms, moves and cancels at random. The last
// digits of a deadline say which operation armed it, so that every fire can be told from every
// other.
template <class Service>
void expect_every_arming_to_end_once(Clock& clock, Tick farthest,
                                     std::optional<std::size_t> handler_threads = {}) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kOperations = Service::traits.remote ? 2'500 : 250'000;  // of each
  constexpr TimerId kTimers = 64;                                                // of each
  constexpr Tick kRoom = kThreads * kOperations;
  std::vector<std::atomic<std::uint8_t>> fired(kRoom);
  std::atomic<int> early = 0;
  Service service({.capacity = kThreads * kTimers,
                   .clock = clock,
                   .handler =
                       [&](TimerId, Tick deadline) {
                         if (clock.now() < deadline) ++early;
                         ++fired[deadline % kRoom];
                       },
                   .threads = handler_threads});

  std::vector<OwnedTimer> timers(kThreads * kTimers);
  std::vector<std::size_t> prevented[kThreads];  // armings that cancel() says it ended
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::minstd_rand random(static_cast<unsigned>(thread + 1));
      for (std::size_t i = 0; i < kOperations; ++i) {
        const auto id = static_cast<TimerId>(thread * kTimers + random() % kTimers);
        OwnedTimer& timer = timers[id];
        if (random() % 4 == 0) {
          if (service.cancel(id)) {
            timer.cancelled = true;
            prevented[thread].push_back(timer.arming.value());
          }
        } else {
          const std::size_t arming = thread * kOperations + i;
          const Tick deadline = clock.now() + random() % farthest;
          service.schedule(id, (deadline / kRoom + 1) * kRoom + arming);
          timer = {.arming = arming, .cancelled = false};
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));

  std::vector<int> pending(timers.size());
  for (const PendingTimer& timer : service.stop()) {
    ++pending[timer.id];
    EXPECT_EQ(timer.deadline % kRoom, timers[timer.id].arming);
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

TYPED_TEST(RealTimeServiceTest, EveryArmingEndsOnceUnderStress) {
  SteadyClock clock;
  expect_every_arming_to_end_once<TypeParam>(clock, 3 * kMillisecond);
}

TYPED_TEST(RealTimeServiceTest, EveryArmingEndsOnceUnderStressWithThreeHandlerThreads) {
  SteadyClock clock;
  expect_every_arming_to_end_once<TypeParam>(clock, 3 * kMillisecond, 3);
}

// Traps: timers of a wheel are cancelled and moved while they descend from level to level. Time
// passes so fast that they do.
TYPED_TEST(RealTimeServiceTest, EveryArmingEndsOnceWhileTimersDescend) {
  ManualClock clock;
  std::jthread time([&](const std::stop_token& ending) {
    while (!ending.stop_requested()) {
      clock.set(clock.now() + kMillisecond);
      std::this_thread::yield();
    }
  });
  expect_every_arming_to_end_once<TypeParam>(clock, 10'000 * kMillisecond);
}

}  // namespace
}  // namespace timerbench
