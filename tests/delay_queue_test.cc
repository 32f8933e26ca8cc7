// The hand-off between the takers of delay_queue.
#include "services/delay_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "services/clock.h"

namespace timerbench {
namespace {

// Takers whose handlers stand still until they are let go, and which timers have begun.
class DelayQueueTest : public testing::Test {
 protected:
  DelayQueue make(std::size_t takers) {
    return DelayQueue({.capacity = 16,
                       .clock = clock_,
                       .handler = [this](TimerId id, Tick) { stand_still(id); },
                       .threads = takers});
  }

  // Whether the timer begins, though other handlers stand still.
  bool begins(TimerId id) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return begun_.contains(id); });
  }

  bool has_begun(TimerId id) {
    const std::lock_guard lock(mutex_);
    return begun_.contains(id);
  }

  void let_go() { set_free(true); }
  void hold() { set_free(false); }

  ManualClock clock_;

 private:
  void set_free(bool value) {
    const std::lock_guard lock(mutex_);
    free_ = value;
    changed_.notify_all();
  }

  void stand_still(TimerId id) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(begun_.insert(id).second) << id << " fires twice";
    changed_.notify_all();
    changed_.wait(lock, [&] { return free_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<TimerId> begun_;
  bool free_ = false;
};

TEST_F(DelayQueueTest, EveryTakerTakes) {
  DelayQueue queue = make(4);
  clock_.settle();
  for (const TimerId id : {1U, 2U, 3U, 4U}) queue.schedule(id, 2 * kMillisecond);
  clock_.set(2 * kMillisecond);
  for (const TimerId id : {1U, 2U, 3U, 4U}) EXPECT_TRUE(begins(id)) << id;
  let_go();
}

TEST_F(DelayQueueTest, WhoeverIsHeldUpHasHandedOn) {
  DelayQueue queue = make(4);
  for (const TimerId id : {1U, 2U, 3U, 4U}) queue.schedule(id, id * kMillisecond);
  for (const TimerId id : {1U, 2U, 3U, 4U}) {
    clock_.set(id * kMillisecond);
    EXPECT_TRUE(begins(id)) << id;
  }
  let_go();
}

// A leads for 2000 ms; C deposes it and leads for 500. While C's taker is held up, the next timer is
// the deposed one's, who must not sleep on until its own time.
TEST_F(DelayQueueTest, ADeposedLeaderIsRungWhenNobodyElseIsThere) {
  DelayQueue queue = make(2);
  clock_.settle();  // they wait, both
  queue.schedule(0, 2000 * kMillisecond);
  clock_.settle();
  queue.schedule(1, 500 * kMillisecond);
  clock_.settle();
  clock_.set(500 * kMillisecond);
  ASSERT_TRUE(begins(1));
  queue.schedule(2, 600 * kMillisecond);
  clock_.set(600 * kMillisecond);
  EXPECT_TRUE(begins(2));
  let_go();
}

TEST_F(DelayQueueTest, AnOldLeaderWakesLateAndStepsBack) {
  DelayQueue queue = make(3);
  clock_.settle();
  queue.schedule(0, 20 * kMillisecond);
  clock_.settle();
  queue.schedule(1, 10 * kMillisecond);
  clock_.settle();
  EXPECT_TRUE(queue.cancel(0));
  queue.schedule(2, 30 * kMillisecond);  // not the first: nobody is rung
  let_go();
  clock_.set(10 * kMillisecond);
  clock_.settle();
  EXPECT_TRUE(has_begun(1));
  const auto wakeups = queue.wakeups();
  clock_.set(20 * kMillisecond);  // nobody's time but the old leader's
  clock_.settle();
  EXPECT_FALSE(has_begun(2));
  EXPECT_LE(queue.wakeups(), wakeups + 1);
  clock_.set(30 * kMillisecond);
  EXPECT_TRUE(begins(2));
}

// One wakes by the clock and, where more is to come, one is rung to lead from then on.
TEST_F(DelayQueueTest, OneTakerWakesForATimer) {
  DelayQueue queue = make(4);
  let_go();
  clock_.settle();
  queue.schedule(0, kMillisecond);
  clock_.settle();
  auto wakeups = queue.wakeups();
  for (TimerId id = 1; id < 10; ++id) queue.schedule(id, (id + 1) * kMillisecond);
  clock_.settle();
  EXPECT_EQ(queue.wakeups(), wakeups) << "none of them is the first";
  for (TimerId id = 0; id < 10; ++id) {
    wakeups = queue.wakeups();
    clock_.set((id + 1) * kMillisecond);
    clock_.settle();
    EXPECT_TRUE(has_begun(id));
    EXPECT_LE(queue.wakeups(), wakeups + (id < 9 ? 2 : 1)) << id;  // nobody leads to nothing
  }
}

// Each has led and slept before, several times. Then one of them is busy.
TEST_F(DelayQueueTest, NobodyIsRungWhoDoesNotSleep) {
  DelayQueue queue = make(2);
  let_go();
  clock_.settle();
  for (TimerId id = 0; id < 10; ++id) {
    queue.schedule(id, (id + 1) * kMillisecond);
    clock_.settle();
    clock_.set((id + 1) * kMillisecond);
    clock_.settle();
  }
  hold();
  queue.schedule(10, 11 * kMillisecond);
  clock_.settle();
  clock_.set(11 * kMillisecond);
  ASSERT_TRUE(begins(10));
  queue.schedule(11, 12 * kMillisecond);
  clock_.set(12 * kMillisecond);
  EXPECT_TRUE(begins(11));
  let_go();
}

// As a Java condition rings them.
TEST_F(DelayQueueTest, TheTakerThatHasSleptLongestIsRung) {
  std::vector<std::thread::id> rung;
  DelayQueue queue({.capacity = 1,
                    .clock = clock_,
                    .handler = [&](TimerId, Tick) { rung.push_back(std::this_thread::get_id()); },
                    .threads = 3});
  clock_.settle();
  for (int round = 0; round < 6; ++round) {
    queue.schedule(0, 0);
    clock_.settle();
  }
  ASSERT_EQ(rung.size(), 6U);
  EXPECT_EQ(std::set(rung.begin(), rung.begin() + 3).size(), 3U);
  EXPECT_TRUE(std::equal(rung.begin(), rung.begin() + 3, rung.begin() + 3));
}

TEST(DelayQueueExceptionTest, ATakerWhoseHandlerThrowsGoesOnTaking) {
  ManualClock clock;
  std::atomic<int> fired = 0;
  DelayQueue queue({.capacity = 16,
                    .clock = clock,
                    .handler =
                        [&](TimerId, Tick) {
                          ++fired;
                          throw std::runtime_error("on purpose");
                        },
                    .threads = 2});
  for (TimerId id = 0; id < 16; ++id) queue.schedule(id, (1 + id / 4) * kMillisecond);
  for (Tick now = 1; now <= 4; ++now) {
    clock.set(now * kMillisecond);
    clock.settle();
    EXPECT_EQ(fired, 4 * static_cast<int>(now));
  }
  EXPECT_EQ(queue.failures(), 16U);
}

}  // namespace
}  // namespace timerbench
