// What single queues say of themselves beyond the contract.
#include <gtest/gtest.h>

#include "queues/lazy_heap.h"
#include "queues/ring.h"

namespace timerbench {
namespace {

TEST(LazyHeap, KeepsNoMoreDeadEntriesThanLiveOnes) {
  LazyHeap queue({.capacity = 100});
  for (TimerId id = 0; id < 100; ++id) queue.schedule(id, 10);
  std::size_t most = 0;
  for (int i = 0; i < 100'000; ++i) {  // behind an early timer no dead entry comes to the top
    queue.schedule(static_cast<TimerId>(1 + i % 99), 1'000'000);
    most = std::max(most, queue.entries());
  }
  EXPECT_GT(most, 100U);
  EXPECT_LE(most, 2 * 100U + 100);
  EXPECT_EQ(queue.size(), 100U);
}

TEST(LazyHeap, TellsManyArmingsOfOneTimerApart) {
  LazyHeap queue({.capacity = 1001});
  for (TimerId id = 1; id <= 1000; ++id) queue.schedule(id, 1);
  for (Tick move = 0; move < 300; ++move) queue.schedule(0, 1000 - move);
  EXPECT_EQ(queue.advance(1, IgnoreExpiry{}), 1000U);
  EXPECT_EQ(queue.advance(700, IgnoreExpiry{}), 0U);
  EXPECT_EQ(queue.advance(701, IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.advance(1000, IgnoreExpiry{}), 0U);
}

TEST(Ring, WakesForNoSlotThatHasFired) {
  Ring<512> queue({.capacity = 100});
  for (TimerId id = 0; id < 100; ++id) queue.schedule(id, 1 + 3 * id);
  for (TimerId id = 0; id < 100; ++id) {
    EXPECT_EQ(queue.next_wakeup(), 1 + 3 * id);
    EXPECT_EQ(queue.advance(1 + 3 * id, IgnoreExpiry{}), 1U);
  }
  queue.schedule(0, 510);  // over all slots that have fired
  EXPECT_EQ(queue.next_wakeup(), 510U);
}

}  // namespace
}  // namespace timerbench
