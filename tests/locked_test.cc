// One mutex around any queue: every queue of the roster as a service.
#include "services/locked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <future>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "queues/roster.h"
#include "realtime/contention.h"
#include "realtime/make_service.h"
#include "run_until.h"
#include "services/sharded.h"

namespace timerbench {
namespace {

template <class Queue>
void add(std::vector<ServiceBackend>& services) {
  // Controls promise nothing.
  if constexpr (!Queue::traits.remote && Queue::traits.precision != Precision::none) {
    services.push_back(make_service_backend<Locked<Queue>>());
  }
}

template <class... Queues>
std::vector<ServiceBackend> all_locked(TypeList<Queues...>) {
  std::vector<ServiceBackend> services;
  (add<Queues>(services), ...);
  return services;
}

class LockedTest : public testing::TestWithParam<ServiceBackend> {};
INSTANTIATE_TEST_SUITE_P(Queue, LockedTest, testing::ValuesIn(all_locked(Roster{})),
                         [](const auto& info) { return std::string(info.param.traits.name); });

TEST_P(LockedTest, PassesTheAuditOfSeveralThreads) {
  const auto figures = run_until(
      [](const auto& found) {
        return !found.failure.empty() || (found.audited.fired > 0 && found.audited.cancelled > 0);
      },
      {.pattern = Pattern::hot, .threads = 4, .seconds = 0.05}, GetParam());
  EXPECT_EQ(figures.failure, "");
  EXPECT_GT(figures.audited.fired, 0U);
  EXPECT_GT(figures.audited.cancelled, 0U);
}

TEST_P(LockedTest, FiresInTheOrderOfTheGranules) {
  std::vector<PendingTimer> fires;
  ManualClock clock;
  const auto service =
      GetParam().make({.capacity = 4, .clock = clock, .handler = [&](TimerId id, Tick deadline) {
                         fires.push_back({id, deadline});
                       }});
  service->schedule(0, 30 * kMillisecond);
  service->schedule(1, 10 * kMillisecond);
  service->schedule(2, kHour);
  service->schedule(3, 20 * kMillisecond);
  EXPECT_TRUE(service->cancel(3));
  clock.settle();
  for (Tick now = 0; now <= 40; ++now) {
    clock.set(now * kMillisecond);
    clock.settle();
  }
  EXPECT_EQ(fires, (std::vector<PendingTimer>{{1, 10 * kMillisecond}, {0, 30 * kMillisecond}}));
  EXPECT_EQ(service->stop(), (std::vector<PendingTimer>{{2, kHour}}));
}

// A queue that has no memory to advance, so often; to go on after it has fired, so often; and to
// schedule, so often.
std::atomic<int> failures_left = 0;
std::atomic<int> failures_after_fires_left = 0;
std::atomic<int> failures_to_schedule_left = 0;

bool fails(std::atomic<int>& left) { return left > 0 && left-- > 0; }

struct ShortOfMemory : LogWheel<256> {
  using LogWheel<256>::LogWheel;

  void schedule(TimerId id, Tick deadline) {
    if (fails(failures_to_schedule_left)) throw std::bad_alloc();
    LogWheel<256>::schedule(id, deadline);
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (next_wakeup() <= now && fails(failures_left)) throw std::bad_alloc();
    const std::size_t fired = LogWheel<256>::advance(now, std::forward<Sink>(sink));
    if (fired > 0 && fails(failures_after_fires_left)) throw std::bad_alloc();
    return fired;
  }
};

class LockedShortOfMemory : public testing::Test {
 protected:
  using Service = Locked<ShortOfMemory>;

  ~LockedShortOfMemory() override { failures_left = 0; }

  ServiceConfig config() {
    return {.capacity = 8, .clock = clock_, .handler = [this](TimerId id, Tick) {
              fired_.push_back(id);
              if (when_fired_) when_fired_();
            }};
  }

  void advance_to(Tick now) {
    clock_.set(now);
    clock_.settle();
  }

  ManualClock clock_;
  std::vector<TimerId> fired_;
  std::function<void()> when_fired_;
};

TEST_F(LockedShortOfMemory, TriesAgainAGranuleLater) {
  Service service(config());
  service.schedule(1, 10 * kMillisecond);
  failures_left = 2;
  for (Tick now = 10; now <= 12; ++now) {
    EXPECT_TRUE(fired_.empty());
    advance_to(now * kMillisecond);
  }
  EXPECT_EQ(fired_, std::vector<TimerId>{1});
}

TEST_F(LockedShortOfMemory, RunsWhatHasFiredBefore) {
  Service service(config());
  service.schedule(1, 10 * kMillisecond);
  failures_after_fires_left = 1;
  advance_to(10 * kMillisecond);
  EXPECT_EQ(fired_, std::vector<TimerId>{1});
}

// In the handler of one timer the other waits for its turn.
TEST_F(LockedShortOfMemory, LeavesADueTimerAsItIsIfItCannotMoveIt) {
  Service service(config());
  service.schedule(1, 10 * kMillisecond);
  service.schedule(2, 10 * kMillisecond);
  when_fired_ = [&] {
    when_fired_ = nullptr;
    EXPECT_EQ(service.size(), 1U);
    failures_to_schedule_left = 1;
    EXPECT_THROW(service.schedule(2, kHour), std::bad_alloc);
  };
  advance_to(10 * kMillisecond);
  EXPECT_EQ(fired_, (std::vector<TimerId>{1, 2}));
}

TEST_F(LockedShortOfMemory, StopsWithoutALoss) {
  Service service(config());
  service.schedule(1, 10 * kMillisecond);
  service.schedule(2, kHour);
  failures_left = 1;
  EXPECT_THROW(service.stop(), std::bad_alloc);
  EXPECT_THROW(service.schedule(3, kHour), ServiceStopped);
  EXPECT_EQ(service.stop(), (std::vector<PendingTimer>{{1, 10 * kMillisecond}, {2, kHour}}));
  EXPECT_TRUE(fired_.empty());
}

TEST_F(LockedShortOfMemory, ShardsStopWithoutALoss) {
  Sharded<Service, 4> service(config());
  std::vector<PendingTimer> armed;
  for (TimerId id = 0; id < 8; ++id) {
    armed.push_back({id, kHour + id * kMillisecond});
    service.schedule(id, kHour + id * kMillisecond);
  }
  failures_left = 2;  // in the first two shards
  EXPECT_THROW(service.stop(), std::bad_alloc);
  EXPECT_THROW(service.schedule(3, kHour), ServiceStopped);
  clock_.set(2 * kHour);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // for whatever goes on nevertheless
  EXPECT_TRUE(fired_.empty());
  std::vector<PendingTimer> pending = service.stop();
  std::sort(pending.begin(), pending.end(),
            [](const auto& one, const auto& other) { return one.id < other.id; });
  EXPECT_EQ(pending, armed);
  EXPECT_TRUE(service.stop().empty());
}

TEST_F(LockedShortOfMemory, ShardsEndWithoutMemory) {
  {
    Sharded<Service, 4> service(config());
    for (TimerId id = 0; id < 8; ++id) service.schedule(id, kHour);
    failures_left = 1'000'000;
  }
  EXPECT_TRUE(fired_.empty());
}

// Whoever has begun may go on, and sees that the service ends.
TEST(LockedEndTest, BeginsNothingWhileItIsDestroyed) {
  ManualClock clock;
  std::atomic<int> fired = 0;
  std::promise<void> begun;
  Locked<LogWheel<256>>* service_of_handler = nullptr;
  {
    Locked<LogWheel<256>> service({.capacity = 2, .clock = clock, .handler = [&](TimerId id, Tick) {
                                     if (++fired > 1) return;
                                     begun.set_value();
                                     const auto end =
                                         std::chrono::steady_clock::now() + std::chrono::seconds(2);
                                     EXPECT_THROW(
                                         while (std::chrono::steady_clock::now() < end) {
                                           service_of_handler->schedule(id, kHour);
                                           std::this_thread::yield();
                                         },
                                         ServiceStopped);
                                   }});
    service_of_handler = &service;
    service.schedule(0, 10 * kMillisecond);
    service.schedule(1, 10 * kMillisecond);
    clock.set(10 * kMillisecond);
    begun.get_future().wait();
  }
  EXPECT_EQ(fired, 1);
}

// Two threads that run handlers, or four; each handler stops the service that is being destroyed.
template <class Service>
void stop_in_handlers_while_it_is_destroyed(std::size_t threads) {
  constexpr TimerId kTimers = 8;
  for (int i = 0; i < 300; ++i) {
    SteadyClock clock;
    Service* service_of_handler = nullptr;
    std::promise<void> made, begun;
    std::atomic<bool> has_begun = false;
    const auto is_made = made.get_future().share();
    {
      Service service({.capacity = kTimers,
                       .clock = clock,
                       .handler =
                           [&](TimerId, Tick) {
                             is_made.wait();
                             if (!has_begun.exchange(true)) begun.set_value();
                             service_of_handler->stop();
                             service_of_handler->cancel(0);
                           },
                       .threads = threads});
      service_of_handler = &service;
      made.set_value();
      for (TimerId id = 0; id < kTimers; ++id) {
        try {
          service.schedule(id, id < 4 ? 0 : kHour);
        } catch (const ServiceStopped&) {
        }
      }
      begun.get_future().wait();
    }
  }
}

TEST(StoppedInHandlersTest, LivesUntilTheyHaveEnded) {
  stop_in_handlers_while_it_is_destroyed<Locked<LogWheel<256>>>(2);
  stop_in_handlers_while_it_is_destroyed<Sharded<Locked<LogWheel<256>>, 4>>(4);
  stop_in_handlers_while_it_is_destroyed<Sharded<Locked<LogWheel<256>>, 4>>(0);
}

template <class Service>
class StoppedByTwoTest : public testing::Test {};
using StoppedByTwo = testing::Types<Locked<LogWheel<256>>, Sharded<Locked<LogWheel<256>>, 4>>;
TYPED_TEST_SUITE(StoppedByTwoTest, StoppedByTwo);

TYPED_TEST(StoppedByTwoTest, HandsEachTimerToOneOfThem) {
  constexpr TimerId kTimers = 64;
  for (int i = 0; i < 200; ++i) {
    ManualClock clock;
    TypeParam service({.capacity = kTimers, .clock = clock, .handler = [](TimerId, Tick) {}});
    for (TimerId id = 0; id < kTimers; ++id) service.schedule(id, kHour);
    std::barrier begin(2);
    std::size_t by_other = 0;
    std::jthread other([&] {
      begin.arrive_and_wait();
      by_other = service.stop().size();
    });
    begin.arrive_and_wait();
    const std::size_t own = service.stop().size();
    other.join();
    EXPECT_EQ(own + by_other, kTimers);
  }
}

TEST_F(LockedShortOfMemory, EndsWithoutMemory) {
  {
    Service service(config());
    service.schedule(1, kHour);
    failures_left = 1'000'000;
  }
  EXPECT_TRUE(fired_.empty());
}

}  // namespace
}  // namespace timerbench
