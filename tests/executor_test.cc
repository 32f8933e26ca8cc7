// The blocking queue of due timers, and its threads.
#include "services/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <mutex>
#include <thread>
#include <vector>

#include "services/clock.h"

namespace timerbench {
namespace {

using Ids = std::vector<TimerId>;

TEST(ExecutorTest, RunsInOrderInTheCallersThreadIfItHasNone) {
  ManualClock clock;
  Ids ran;
  Executor executor({.capacity = 8,
                     .clock = clock,
                     .handler =
                         [&](TimerId id, Tick deadline) {
                           EXPECT_EQ(deadline, Tick{10} * id);
                           ran.push_back(id);
                         }},
                    0);
  for (const TimerId id : {3U, 1U, 2U, 5U}) executor.submit(id, Tick{10} * id);
  EXPECT_EQ(executor.size(), 4U);
  EXPECT_TRUE(executor.take_back(2));
  EXPECT_FALSE(executor.take_back(2));
  EXPECT_FALSE(executor.take_back(7));
  EXPECT_EQ(ran, Ids{});
  executor.run_submitted();
  EXPECT_EQ(ran, (Ids{3, 1, 5}));
  EXPECT_EQ(executor.size(), 0U);
  EXPECT_FALSE(executor.take_back(3));
}

// As many run at once as there are threads: each waits for the others.
TEST(ExecutorTest, RingsAsManyThreadsAsThereAreTimers) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    ManualClock clock;
    std::barrier<> all_run(3);
    Executor executor({.capacity = 8,
                       .clock = clock,
                       .handler = [&](TimerId, Tick) { all_run.arrive_and_wait(); }},
                      3);
    if (attempt % 2 == 0) clock.settle();  // or while the threads start
    for (const TimerId id : {0U, 1U, 2U}) executor.submit(id, 0);
    executor.run_submitted();
    clock.settle();
    EXPECT_EQ(executor.size(), 0U);
    for (const TimerId id : {0U, 1U, 2U}) {
      executor.submit(id, 0);
      executor.run_submitted();
    }
    clock.settle();
    EXPECT_EQ(executor.size(), 0U);
  }
}

TEST(ExecutorTest, OnlyThoseAreRungForWhomThereIsWork) {
  ManualClock clock;
  std::atomic<int> ran = 0;
  Executor executor({.capacity = 8, .clock = clock, .handler = [&](TimerId, Tick) { ++ran; }}, 4);
  for (int i = 0; i < 10; ++i) {
    clock.settle();
    executor.submit(0, 0);
    executor.run_submitted();
    executor.run_submitted();
  }
  clock.settle();
  EXPECT_EQ(ran, 10);
  EXPECT_LE(executor.wakeups(), 20U);
}

TEST(ExecutorTest, NothingBeginsOnceItIsClosed) {
  ManualClock clock;
  Executor executor({.capacity = 8,
                     .clock = clock,
                     .handler = [](TimerId, Tick) { ADD_FAILURE() << "begins all the same"; }},
                    0);
  executor.submit(3, 7);
  executor.close();
  executor.run_submitted();
  std::vector<PendingTimer> pending;
  executor.end();
  executor.drain(pending);
  EXPECT_EQ(pending, (std::vector<PendingTimer>{{3, 7}}));
  EXPECT_EQ(executor.size(), 0U);
}

TEST(ExecutorTest, HandsBackWhatHadNotBegun) {
  ManualClock clock;
  std::barrier<> begun(2);
  std::barrier<> let_go(2);
  std::atomic<bool> ended = false;
  Executor executor({.capacity = 8,
                     .clock = clock,
                     .handler =
                         [&](TimerId id, Tick) {
                           EXPECT_EQ(id, 0U);
                           begun.arrive_and_wait();
                           let_go.arrive_and_wait();
                           ended = true;
                         }},
                    1);
  for (const TimerId id : {0U, 1U, 2U}) executor.submit(id, Tick{7} * id);
  executor.run_submitted();
  begun.arrive_and_wait();
  executor.close();
  std::thread releasing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    let_go.arrive_and_wait();
  });
  std::vector<PendingTimer> pending;
  executor.end();
  executor.drain(pending);
  EXPECT_TRUE(ended);
  EXPECT_EQ(pending, (std::vector<PendingTimer>{{1, 7}, {2, 14}}));
  releasing.join();
}

}  // namespace
}  // namespace timerbench
