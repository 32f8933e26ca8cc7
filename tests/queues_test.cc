// What single queues say of themselves beyond the contract.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "queues/kafka_wheel.h"
#include "queues/lawn.h"
#include "queues/lazy_heap.h"
#include "queues/linux_wheel.h"
#include "queues/log_wheel.h"
#include "queues/ordered_map.h"
#include "queues/ring.h"
#include "queues/scan.h"
#include "queues/tick_map.h"

namespace {

std::size_t allocations = 0;
bool is_out_of_memory = false;

}  // namespace

// The whole program allocates through these, which count. Not inlined, or GCC warns of a free() of
// what did not come from malloc().
void* operator new(std::size_t bytes) {
  ++allocations;
  if (is_out_of_memory) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  if (is_out_of_memory) throw std::bad_alloc();
  const auto align = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(align, (bytes + align - 1) / align * align)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace timerbench {
namespace {

template <class Queue>
class OwnMemory : public testing::Test {};

// Not the heaps of Boost, which allocate each timer, nor Skiplist, whose heights are random.
using QueuesWithMemoryOfTheirOwn =
    testing::Types<Scan, TickMap, OrderedMap, LazyHeap, Ring<512>, KafkaWheel<20>, KafkaWheel<256>,
                   LogWheel<256>, LinuxWheel, Lawn>;
TYPED_TEST_SUITE(OwnMemory, QueuesWithMemoryOfTheirOwn);

TYPED_TEST(OwnMemory, NothingIsAllocatedOnceWarm) {
  constexpr TimerId kTimers = 1000;
  TypeParam queue(QueueConfig{.capacity = kTimers});
  Tick now = 0;
  // Arms, moves, cancels and fires, the same each round.
  const auto round = [&] {
    for (Tick step = 0; step < 5000; ++step) {
      const auto id = static_cast<TimerId>(step * 7919 % kTimers);
      if (step % 5 == 4) {
        queue.cancel(id);
      } else {
        queue.schedule(id, now + 1 + step * 104729 % 3000);
      }
      if (step % 3 == 0) queue.advance(++now, IgnoreExpiry{});
    }
    queue.advance(now += 4000, IgnoreExpiry{});
    EXPECT_EQ(queue.size(), 0U);
  };
  for (int i = 0; i < 30; ++i) round();
  const std::size_t before = allocations;
  EXPECT_GT(before, 0U);
  for (int i = 0; i < 10; ++i) round();
  EXPECT_EQ(allocations, before);
}

TEST(LazyHeap, KeepsNoMoreDeadEntriesThanLiveOnes) {
  LazyHeap queue({.capacity = 100});
  for (TimerId id = 0; id < 100; ++id) queue.schedule(id, 10);
  std::size_t most = 0;
  for (int i = 0; i < 100'000; ++i) {  // behind an early timer no dead entry comes to the top
    queue.schedule(static_cast<TimerId>(1 + i % 99), 1'000'000);
    most = std::max(most, queue.queued());
  }
  EXPECT_GT(most, 100U);
  EXPECT_LE(most, 2 * 100U + 100);
  EXPECT_EQ(queue.size(), 100U);
}

// Fires take from the living, so that what was a bearable share of dead entries no longer is.
TEST(LazyHeap, KeepsNoMoreDeadEntriesThanLiveOnesAfterFires) {
  constexpr TimerId kTimers = 1000;
  LazyHeap queue({.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 1 + id);
  for (TimerId id = 100; id < kTimers; ++id) queue.schedule(id, 1'000'000);  // no top dies
  for (TimerId id = 100; id < kTimers; ++id) queue.schedule(id, id == 100 ? 2'000'000 : 50);
  std::size_t most_dead = 0;
  for (Tick now = 1; now <= 100; ++now) {
    queue.advance(now, IgnoreExpiry{});
    EXPECT_LE(queue.queued(), 2 * queue.size() + 64) << now;
    most_dead = std::max(most_dead, queue.queued() - queue.size());
  }
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_GT(most_dead, 0U);
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

// The example of its head comment.
TEST(LinuxWheel, FiresWhenABucketBegins) {
  LinuxWheel queue({.capacity = 3});
  for (const Tick deadline : {62, 66, 1000})
    queue.schedule(static_cast<TimerId>(queue.size()), deadline);
  for (const Tick instant : {62, 72, 1024}) {
    EXPECT_EQ(queue.next_wakeup(), instant);
    EXPECT_EQ(queue.advance(instant - 1, IgnoreExpiry{}), 0U);
    EXPECT_EQ(queue.advance(instant, IgnoreExpiry{}), 1U);
  }
}

// The first deadline of a level is the latest for its delay, when a bucket has just begun.
TEST(LinuxWheel, IsLateByABucketOf63AtMost) {
  for (int level = 1; level <= 15; ++level) {
    const Tick bucket = Tick{1} << (3 * level);
    const Tick delay = 63 * bucket / 8;
    const Tick start = bucket / 8 + 1;  // deadline % bucket == 1
    LinuxWheel queue({.capacity = 2, .start = start});
    queue.schedule(0, start + delay);
    EXPECT_EQ(queue.next_wakeup(), start + delay + bucket - 1);
    queue.schedule(1, start + delay - 1);  // of the level below
    EXPECT_LT(queue.next_wakeup(), start + delay - 1 + bucket / 8);
  }
}

TEST(LinuxWheel, DoesNotWakeUpForACancelledTimer) {
  LinuxWheel queue({.capacity = 100});
  for (TimerId id = 0; id < 100; ++id) queue.schedule(id, 1 + 997 * id);
  for (TimerId id = 0; id < 99; ++id) queue.cancel(id);
  const Tick wakeup = queue.next_wakeup();
  EXPECT_EQ(queue.advance(wakeup - 1, IgnoreExpiry{}), 0U);
  EXPECT_EQ(queue.advance(wakeup, IgnoreExpiry{}), 1U);
}

// The example of its head comment.
TEST(Lawn, TellsTheHeapLateThatAFirstTimerHasGone) {
  Lawn queue({.capacity = 3});
  constexpr TimerId kA = 0;
  constexpr TimerId kB = 1;
  constexpr TimerId kC = 2;
  queue.schedule(kA, 30);
  queue.schedule(kB, 100);
  queue.advance(10, IgnoreExpiry{});
  queue.schedule(kC, 40);
  queue.schedule(kA, 110);
  EXPECT_EQ(queue.next_wakeup(), 30U);
  EXPECT_EQ(queue.advance(30, IgnoreExpiry{}), 0U);
  EXPECT_EQ(queue.next_wakeup(), 40U);
  EXPECT_EQ(queue.advance(40, IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.queued(), 1U);
  EXPECT_EQ(queue.advance(105, IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.next_wakeup(), 110U);
}

TEST(Lawn, HasNoMoreListsThanTimers) {
  Lawn queue({.capacity = 10});
  for (Tick delay = 1; delay <= 10'000; ++delay) {
    queue.schedule(static_cast<TimerId>(delay * delay % 10), delay);
    EXPECT_LE(queue.queued(), queue.size());
  }
  for (TimerId id = 0; id < 10; ++id) queue.cancel(id);
  EXPECT_EQ(queue.queued(), 0U);
  EXPECT_EQ(queue.next_wakeup(), kNever);
}

// A deadline that has passed and a delay may be the same number.
TEST(Lawn, KeepsOrderAmongDelaysAndPastDeadlines) {
  Lawn queue({.capacity = 4, .start = 5});
  queue.schedule(0, 9);  // delay 4
  queue.schedule(1, 4);
  queue.advance(5, IgnoreExpiry{});
  queue.schedule(1, 4);
  queue.schedule(2, 3);
  queue.schedule(3, 4);
  std::vector<Tick> fired;
  queue.advance(9, [&](TimerId, Tick deadline) { fired.push_back(deadline); });
  EXPECT_EQ(fired, (std::vector<Tick>{3, 4, 4, 9}));
}

TEST(Lawn, KeepsOrderWhenAFirstTimerHasGone) {
  Lawn queue({.capacity = 3});
  queue.schedule(0, 30);
  queue.advance(10, IgnoreExpiry{});
  queue.schedule(1, 40);  // behind the first, of which the heap still knows when it is cancelled
  queue.schedule(2, 35);
  queue.cancel(0);
  std::vector<Tick> fired;
  queue.advance(50, [&](TimerId, Tick deadline) { fired.push_back(deadline); });
  EXPECT_EQ(fired, (std::vector<Tick>{35, 40}));
}

template <class Queue>
class ShortOfMemory : public testing::Test {};

using QueuesThatGrow = testing::Types<TickMap, Lawn>;
TYPED_TEST_SUITE(ShortOfMemory, QueuesThatGrow);

TYPED_TEST(ShortOfMemory, StaysAsItWasWhenArmingFails) {
  constexpr TimerId kTimers = 300;
  TypeParam queue(QueueConfig{.capacity = kTimers});
  int failures = 0;
  for (TimerId id = 0; id < kTimers; ++id) {
    const TimerId moved = id / 2;
    if (id > 0) queue.schedule(moved, 1'000 + moved);
    is_out_of_memory = true;
    for (const TimerId failing : {moved, id}) {
      const std::size_t before = queue.size();
      try {
        queue.schedule(failing, 2'000 + id);
      } catch (const std::bad_alloc&) {
        EXPECT_EQ(queue.size(), before);
        ++failures;
      }
    }
    is_out_of_memory = false;
    queue.schedule(moved, 1'000 + moved);
    queue.schedule(id, 1'000 + id);
  }
  EXPECT_GT(failures, 0);
  for (TimerId id = 0; id < kTimers; ++id) {
    EXPECT_EQ(queue.advance(999 + id, IgnoreExpiry{}), 0U);
    EXPECT_EQ(queue.advance(1'000 + id, IgnoreExpiry{}), 1U);
  }
}

TEST(LogWheel, StaysAsItWasWhenMemoryRunsOutWhileArming) {
  constexpr TimerId kTimers = 900;
  LogWheel<256> queue({.capacity = kTimers});
  // Each timer has a bucket of its own.
  const auto deadline = [](TimerId id) { return id < 500 ? 1 + id : 256 * (id - 490); };
  TimerId armed = 0;
  is_out_of_memory = true;
  EXPECT_THROW(for (; armed < kTimers; ++armed) queue.schedule(armed, deadline(armed)),
               std::bad_alloc);
  is_out_of_memory = false;
  EXPECT_GT(armed, 0U);
  EXPECT_EQ(queue.size(), armed);
  for (TimerId id = armed; id < kTimers; ++id) queue.schedule(id, deadline(id));
  for (TimerId id = 0; id < kTimers; ++id) {
    EXPECT_EQ(queue.advance(deadline(id) - 1, IgnoreExpiry{}), 0U);
    EXPECT_EQ(queue.advance(deadline(id), IgnoreExpiry{}), 1U);
  }
}

TEST(LogWheel, LosesNothingWhenMemoryRunsOutInACascade) {
  constexpr TimerId kTimers = 256;
  LogWheel<256> queue({.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 512 + id);
  is_out_of_memory = true;
  EXPECT_THROW(queue.advance(512, IgnoreExpiry{}), std::bad_alloc);
  is_out_of_memory = false;
  EXPECT_EQ(queue.size(), kTimers);
  for (Tick now = 512; now < 512 + kTimers; ++now) {
    EXPECT_EQ(queue.advance(now, IgnoreExpiry{}), 1U) << now;
  }
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
