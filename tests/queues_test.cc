// What single queues say of themselves beyond the contract.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "queues/avl_multiset.h"
#include "queues/btree.h"
#include "queues/index_heap.h"
#include "queues/kafka_wheel.h"
#include "queues/lazy_heap.h"
#include "queues/log_wheel.h"
#include "queues/ordered_map.h"
#include "queues/radix_heap.h"
#include "queues/ring.h"
#include "queues/scan.h"
#include "queues/tick_map.h"

namespace {

std::size_t allocations = 0;
bool is_out_of_memory = false;
std::size_t last_allocations = 0;  // that succeed nevertheless

void count_allocation() {
  ++allocations;
  if (!is_out_of_memory) return;
  if (last_allocations == 0) throw std::bad_alloc();
  --last_allocations;
}

}  // namespace

// The whole program allocates through these, which count. Not inlined, or GCC warns of a free() of
// what did not come from malloc().
void* operator new(std::size_t bytes) {
  count_allocation();
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count_allocation();
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

// Not the heaps of Boost, which allocate each timer, nor BTree, which frees nodes, nor Skiplist, whose heights are random.
using QueuesWithMemoryOfTheirOwn =
    testing::Types<Scan, TickMap, OrderedMap, AvlMultiset, IndexHeap<4>, LazyHeap, RadixHeap,
                   Ring<512>, KafkaWheel<20>, KafkaWheel<256>, LogWheel<256>>;
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

template <class Queue>
class IndexHeaps : public testing::Test {};
using EachArity = testing::Types<IndexHeap<2>, IndexHeap<4>, IndexHeap<8>>;
TYPED_TEST_SUITE(IndexHeaps, EachArity);

// Each place of each size: what fills it may have to rise or to sink.
TYPED_TEST(IndexHeaps, FireInOrderWhicheverTimerIsTakenOut) {
  constexpr TimerId kTimers = 90;
  for (TimerId size = 1; size <= kTimers; ++size) {
    for (TimerId out = 0; out < size; ++out) {
      TypeParam queue({.capacity = size});
      for (TimerId id = 0; id < size; ++id) queue.schedule(id, id * 61 % 97);
      if (out % 2 == 0) {
        queue.cancel(out);
      } else {
        queue.schedule(out, kNever - 1);
      }
      std::vector<Tick> fired;
      queue.advance(96, [&](TimerId id, Tick deadline) {
        EXPECT_EQ(deadline, id * 61 % 97);
        fired.push_back(deadline);
      });
      EXPECT_EQ(fired.size(), size - 1);
      EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end())) << out << " of " << size;
      EXPECT_EQ(queue.next_wakeup(), out % 2 == 0 ? kNever : kNever - 1);
    }
  }
}

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
    EXPECT_LE(queue.entries(), 2 * queue.size() + 64) << now;
    most_dead = std::max(most_dead, queue.entries() - queue.size());
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

// Each arming and each move runs out of memory before it succeeds, with no allocation left and with
// one, which gives a new root but no second half for the old one. Abseil does not promise it.
TEST(BTree, StaysAsItWasWhenMemoryRunsOut) {
  constexpr TimerId kTimers = 3000;
  BTree queue({.capacity = kTimers});
  std::set<std::pair<Tick, TimerId>> expected;
  std::size_t failures = 0;
  const auto fails = [&](TimerId id, Tick deadline, std::size_t allocations_left) {
    bool failed = false;
    is_out_of_memory = true;
    last_allocations = allocations_left;
    try {
      queue.schedule(id, deadline);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    is_out_of_memory = false;
    last_allocations = 0;
    if (!failed) return false;
    ++failures;
    EXPECT_EQ(queue.size(), expected.size());
    EXPECT_EQ(queue.next_wakeup(), expected.empty() ? kNever : expected.begin()->first);
    return true;
  };
  const auto schedule = [&](TimerId id, Tick deadline) {
    if (fails(id, deadline, 0) && fails(id, deadline, 1)) queue.schedule(id, deadline);
  };
  for (TimerId id = 0; id < kTimers; ++id) {
    const Tick deadline = 1 + id * 7919 % 2503;
    schedule(id, deadline);
    expected.emplace(deadline, id);
  }
  for (TimerId id = 0; id < kTimers; ++id) {
    schedule(id, 3000 + id);
    expected.erase({1 + id * 7919 % 2503, id});
    expected.emplace(3000 + id, id);
  }
  EXPECT_GT(failures, 100U);
  std::vector<std::pair<Tick, TimerId>> fired;
  queue.advance(6000, [&](TimerId id, Tick deadline) { fired.emplace_back(deadline, id); });
  EXPECT_TRUE(std::equal(fired.begin(), fired.end(), expected.begin(), expected.end()));
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

// The example at the head of radix_heap.h.
TEST(RadixHeap, FollowsItsExample) {
  constexpr TimerId kA = 0, kB = 1, kC = 2, kD = 3;
  RadixHeap queue({.capacity = 4});
  queue.schedule(kB, 7);
  queue.schedule(kA, 5);
  queue.schedule(kC, 20);
  EXPECT_EQ(queue.next_wakeup(), 5U);
  EXPECT_EQ(queue.advance(5, IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.work().moved, 1U);
  EXPECT_EQ(queue.next_wakeup(), 7U);
  EXPECT_EQ(queue.advance(7, IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.advance(9, IgnoreExpiry{}), 0U);
  queue.schedule(kD, 12);
  EXPECT_EQ(queue.next_wakeup(), 12U);
  EXPECT_EQ(queue.advance(20, IgnoreExpiry{}), 2U);
  EXPECT_EQ(queue.work().moved, 1U);
}

// What is far ahead costs nothing before it is due.
TEST(RadixHeap, MovesNothingThatNeedNotMove) {
  constexpr TimerId kTimers = 64;
  RadixHeap queue({.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 1'000'000 + id);
  for (Tick now = 0; now < 1'000'000; now += 1000) {
    EXPECT_EQ(queue.advance(now, IgnoreExpiry{}), 0U);
    EXPECT_EQ(queue.next_wakeup(), 1'000'000U);
  }
  EXPECT_EQ(queue.work().moved, 0U);
  EXPECT_EQ(queue.advance(1'000'000, IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.work().moved, 63U);
}

// The hand stops before the bucket of what is not yet due, for whatever is armed later must come
// behind it.
TEST(RadixHeap, FiresInOrderWhatWasArmedLongBefore) {
  RadixHeap queue({.capacity = 2});
  queue.schedule(0, 1'000'000);
  queue.advance(600'000, IgnoreExpiry{});
  queue.schedule(1, 1'040'000);
  EXPECT_EQ(queue.next_wakeup(), 1'000'000U);
  EXPECT_EQ(queue.advance(1'000'000, IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.advance(1'040'000, IgnoreExpiry{}), 1U);
}

TEST(RadixHeap, FiresWhatWasDueLongAgoInOrder) {
  RadixHeap queue({.capacity = 100});
  queue.advance(1'000'000, IgnoreExpiry{});
  for (TimerId id = 0; id < 100; ++id) queue.schedule(id, id * 37 % 100);
  queue.cancel(3);
  std::vector<Tick> fired;
  queue.advance(1'000'000, [&](TimerId, Tick deadline) { fired.push_back(deadline); });
  EXPECT_EQ(fired.size(), 99U);
  EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end()));
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
