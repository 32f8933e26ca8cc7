// The wheel of system_timer: where timers go, when they descend, and whose locks are held.
#include "services/system_timer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "service_fixture.h"

namespace timerbench {
namespace {

// Five threads of which one or another always reads: with a lock that prefers readers, who wants to
// write waits for ever.
TEST(FairSharedMutexTest, AWriterIsNotStarved) {
  FairSharedMutex mutex;
  std::atomic<bool> written = false;
  std::atomic<bool> give_up = false;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 5; ++i) {
    readers.emplace_back([&] {
      while (!written && !give_up) {
        const std::shared_lock lock(mutex);
        std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::jthread writer([&] {
    const std::lock_guard lock(mutex);
    written = true;
  });
  for (int i = 0; i < 5'000 && !written; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(written);
  give_up = true;
}

using SystemTimerTest = ServiceTest<SystemTimer>;

// Vector V19, but for the polls: a timer 100 s ahead makes the reaper wake twice, at 96 and 100 s.
TEST_F(SystemTimerTest, WakesWhereBucketsAreAndEvery200Milliseconds) {
  service_.schedule(0, 100'000 * kMillisecond);
  clock_.settle();
  const auto before = service_.wakeups();
  for (Tick now = 50; now <= 100'000; now += 50) {
    clock_.set(now * kMillisecond);
    clock_.settle();
  }
  // The 500 polls, with which the two buckets coincide, and the executor's thread.
  EXPECT_NEAR(static_cast<double>(service_.wakeups() - before), 500, 3);
  EXPECT_EQ(fires(), (Fires{{0, 100'000 * kMillisecond}}));
}

// Trap T4: a wheel that was idle has an old idea of the time, and a bucket's time may be past.
TEST_F(SystemTimerTest, AnIdleWheelTakesWhatIsDueSoonOrPast) {
  clock_.set(1'000 * kMillisecond);
  clock_.settle();
  service_.schedule(0, 1'005 * kMillisecond);
  service_.schedule(1, 1'000 * kMillisecond);
  service_.schedule(2, 800 * kMillisecond);
  EXPECT_EQ(fires(), (Fires{{1, 1'000 * kMillisecond}, {2, 800 * kMillisecond}}));
  clock_.set(1'004 * kMillisecond);
  EXPECT_EQ(fires(), Fires{});
  clock_.set(1'005 * kMillisecond);
  EXPECT_EQ(fires(), (Fires{{0, 1'005 * kMillisecond}}));
}

// Time that is looked at.
class HookedClock final : public Clock {
 public:
  HookedClock(ManualClock& clock, std::function<void(Tick)> on_now)
      : clock_(clock), on_now_(std::move(on_now)) {}

  Tick now() const override {
    const Tick now = clock_.now();
    on_now_(now);
    return now;
  }

  std::unique_ptr<Alarm> make_alarm() override { return clock_.make_alarm(); }

 private:
  ManualClock& clock_;
  std::function<void(Tick)> on_now_;
};

// While the reaper takes a bucket out of the queue, before it has the lock, a timer is armed that
// belongs into an earlier one. If the wheel's time went back to that, timers would be put into the
// bucket that has just been emptied, and never fire.
TEST_F(SystemTimerTest, TimeDoesNotGoBackToABucketThatCameLate) {
  bool has_come = false;
  std::thread arming;
  std::function<void()> arm;
  HookedClock clock(clock_, [&](Tick now) {
    if (now < 20 * kMillisecond || std::exchange(has_come, true)) return;
    arming = std::thread(arm);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  SystemTimer timer(
      {.capacity = 3, .clock = clock, .handler = scene_.config(SystemTimer::traits).handler});
  arm = [&] { timer.schedule(1, 19 * kMillisecond); };
  timer.schedule(0, 25 * kMillisecond);  // at 20 it descends
  clock_.settle();
  clock_.set(20 * kMillisecond);
  clock_.settle();
  arming.join();
  timer.schedule(2, 39 * kMillisecond);
  clock_.set(39 * kMillisecond);
  EXPECT_EQ(fires(),
            (Fires{{0, 25 * kMillisecond}, {1, 19 * kMillisecond}, {2, 39 * kMillisecond}}));
}

// Vector V8: the bucket stays in the delay queue and causes one wakeup.
TEST_F(SystemTimerTest, ACancelledTimerCostsOneWakeup) {
  service_.schedule(0, 10 * kMillisecond);
  clock_.settle();
  EXPECT_TRUE(service_.cancel(0));
  const auto before = service_.wakeups();
  advance_to(19 * kMillisecond);
  EXPECT_EQ(service_.wakeups(), before + 1);
  EXPECT_EQ(fires(), Fires{});
}

// Traps T8, T9: a handler that cancels and arms does so under no lock of the wheel's.
TEST_F(SystemTimerTest, AHandlerMayUseTheBucketItComesFrom) {
  int cancelled = 0;
  on_fire_ = [&](TimerId id) {
    if (id != 0) return;
    cancelled += service_.cancel(1);
    service_.schedule(2, clock_.now() + 20 * kMillisecond);  // the same bucket, a round later
    service_.schedule(0, clock_.now() + kMillisecond);
  };
  for (const TimerId id : {0U, 1U, 2U}) service_.schedule(id, 5 * kMillisecond);
  advance_to(8 * kMillisecond);
  EXPECT_EQ(fires().size(), 4U) << "0 at 5, 6, 7 and 8";
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(service_.size(), 2U);
}

}  // namespace
}  // namespace timerbench
