// One mutex around any queue: every queue of the roster as a service.
#include "services/locked.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "queues/roster.h"
#include "realtime/contention.h"
#include "realtime/make_service.h"

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
  const StopFlag go_on = false;
  const auto figures =
      run_contention({.pattern = Pattern::hot, .threads = 4, .seconds = 0.05}, GetParam(), go_on);
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

// A queue that has no memory to advance, so often.
std::atomic<int> failures_left = 0;

struct ShortOfMemory : LogWheel<256> {
  using LogWheel<256>::LogWheel;

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (next_wakeup() <= now && failures_left > 0) {
      --failures_left;
      throw std::bad_alloc();
    }
    return LogWheel<256>::advance(now, std::forward<Sink>(sink));
  }
};

class LockedShortOfMemory : public testing::Test {
 protected:
  using Service = Locked<ShortOfMemory>;

  ~LockedShortOfMemory() override { failures_left = 0; }

  ServiceConfig config() {
    return {.capacity = 4, .clock = clock_, .handler = [this](TimerId id, Tick) {
              fired_.push_back(id);
            }};
  }

  ManualClock clock_;
  std::vector<TimerId> fired_;
};

TEST_F(LockedShortOfMemory, TriesAgainAGranuleLater) {
  Service service(config());
  service.schedule(1, 10 * kMillisecond);
  failures_left = 2;
  for (Tick now = 10; now <= 12; ++now) {
    EXPECT_TRUE(fired_.empty());
    clock_.set(now * kMillisecond);
    clock_.settle();
  }
  EXPECT_EQ(fired_, std::vector<TimerId>{1});
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

TEST(LockedStopTest, HandsEachTimerToOneOfTheThreadsThatStop) {
  constexpr TimerId kTimers = 64;
  for (int i = 0; i < 200; ++i) {
    ManualClock clock;
    Locked<LogWheel<256>> service(
        {.capacity = kTimers, .clock = clock, .handler = [](TimerId, Tick) {}});
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
