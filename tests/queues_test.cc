// What single queues say of themselves beyond the contract.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/id_logs.h"
#include "queues/avl_multiset.h"
#include "queues/btree.h"
#include "queues/calendar_queue.h"
#include "queues/dary_heap.h"
#include "queues/fibonacci_heap.h"
#include "queues/index_heap.h"
#include "queues/kafka_wheel.h"
#include "queues/ladder_queue.h"
#include "queues/lawn.h"
#include "queues/lazy_heap.h"
#include "queues/linux_wheel.h"
#include "queues/log_calendar.h"
#include "queues/log_ring.h"
#include "queues/log_wheel.h"
#include "queues/ordered_map.h"
#include "queues/pairing_heap.h"
#include "queues/radix_heap.h"
#include "queues/ring.h"
#include "queues/scan.h"
#include "queues/segment_tree.h"
#include "queues/skiplist.h"
#include "queues/tick_map.h"
#include "services/clock.h"
#include "services/delay_queue.h"
#include "services/java_timer.h"
#include "services/locked.h"
#include "services/ring_timer.h"
#include "services/sharded.h"
#include "services/system_timer.h"

namespace {

std::size_t allocations = 0;
bool is_out_of_memory = false;
std::size_t last_allocations = 0;  // that succeed nevertheless

void count_allocation(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 33;
  ++allocations;
  if (bytes > kMost) throw std::bad_alloc();
  if (!is_out_of_memory) return;
  if (last_allocations == 0) throw std::bad_alloc();
  --last_allocations;
}

}  // namespace

// The whole program allocates through these, which count. Not inlined, or GCC warns of a free() of
// what did not come from malloc().
void* operator new(std::size_t bytes) {
  count_allocation(bytes);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count_allocation(bytes);
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

// For arrays too, since those of the address sanitizer would not come here.
void* operator new[](std::size_t bytes) { return operator new(bytes); }
[[gnu::noinline]] void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return operator new(bytes, alignment);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace timerbench {
namespace {

// Whether it throws std::bad_alloc when only so many of its allocations succeed.
template <class Calls>
bool runs_out_of_memory(std::size_t allocations_left, Calls&& calls) {
  bool failed = false;
  is_out_of_memory = true;
  last_allocations = allocations_left;
  try {
    calls();
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  is_out_of_memory = false;
  last_allocations = 0;
  return failed;
}

template <class Queue>
class OwnMemory : public testing::Test {};

// Not the heaps of Boost, which allocate each timer, nor BTree, which frees nodes, nor Skiplist,
// whose heights are random.
using QueuesWithMemoryOfTheirOwn =
    testing::Types<Scan, TickMap, OrderedMap, AvlMultiset, SegmentTree, IndexHeap<4>, LazyHeap,
                   RadixHeap, Ring<512>, KafkaWheel<20>, KafkaWheel<256>, LogRing<512>,
                   LogWheel<256>, LinuxWheel, Lawn, CalendarQueue, LadderQueue, LogCalendar<256>>;
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

// Each arming and each move runs out of memory before it succeeds, with no allocation left and with
// one, which gives a new root but no second half for the old one. Abseil does not promise it.
TEST(BTree, StaysAsItWasWhenMemoryRunsOut) {
  constexpr TimerId kTimers = 3000;
  BTree queue({.capacity = kTimers});
  std::set<std::pair<Tick, TimerId>> expected;
  std::size_t failures = 0;
  const auto fails = [&](TimerId id, Tick deadline, std::size_t allocations_left) {
    if (!runs_out_of_memory(allocations_left, [&] { queue.schedule(id, deadline); })) return false;
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

TEST(AvlMultiset, OfEqualsTheOneArmedFirstComesFirst) {
  constexpr TimerId kTimers = 100;
  AvlMultiset queue({.capacity = kTimers});
  std::vector<TimerId> armed;
  for (TimerId i = 0; i < kTimers; ++i) armed.push_back(i * 37 % kTimers);
  for (const TimerId id : armed) queue.schedule(id, 5);
  queue.schedule(armed[3], 6);  // and back again, so it is the last
  queue.schedule(armed[3], 5);
  std::rotate(armed.begin() + 3, armed.begin() + 4, armed.end());
  std::vector<TimerId> fired;
  queue.advance(5, [&](TimerId id, Tick) { fired.push_back(id); });
  EXPECT_EQ(fired, armed);
}

// Fires all, and expects each timer at its deadline; kNever is that of one that is not pending.
template <class Queue>
void expect_deadlines(Queue& queue, const std::vector<Tick>& deadlines) {
  std::map<Tick, std::set<TimerId>> expected;
  std::size_t pending = 0;
  for (TimerId id = 0; id < deadlines.size(); ++id) {
    if (deadlines[id] == kNever) continue;
    expected[deadlines[id]].insert(id);
    ++pending;
  }
  EXPECT_EQ(queue.size(), pending);
  for (const auto& [deadline, ids] : expected) {
    ASSERT_EQ(queue.advance(deadline - 1, IgnoreExpiry{}), 0U) << deadline;
    std::set<TimerId> due;
    const std::size_t fired = queue.advance(deadline, [&](TimerId id, Tick told) {
      EXPECT_EQ(told, deadline) << id;
      due.insert(id);
    });
    ASSERT_EQ(fired, ids.size()) << deadline;
    ASSERT_EQ(due, ids) << deadline;
  }
}

// Each arming or move runs out of memory where it needs a block of nodes. Every other one that failed
// is made again.
TEST(Skiplist, StaysAsItWasWhenMemoryRunsOut) {
  constexpr TimerId kTimers = 10;
  Skiplist queue({.capacity = kTimers});
  std::vector<Tick> deadlines(kTimers, kNever);
  std::size_t failures = 0;
  for (Tick move = 0; move < 3000; ++move) {
    const auto id = static_cast<TimerId>(move % kTimers);
    const Tick deadline = 100 + move * 7919 % 2503;
    const std::size_t before = queue.size();
    if (runs_out_of_memory(0, [&] { queue.schedule(id, deadline); })) {
      ASSERT_EQ(queue.size(), before);
      queue.check();
      if (++failures % 2 == 0) continue;
      queue.schedule(id, deadline);
    }
    deadlines[id] = deadline;
  }
  EXPECT_GT(failures, 10U);
  expect_deadlines(queue, deadlines);
}

template <class Queue>
void expect_none_and_too_many() {
  Queue queue(QueueConfig{.capacity = 0});
  EXPECT_EQ(queue.advance(1'000'000, IgnoreExpiry{}), 0U);
  EXPECT_EQ(queue.next_wakeup(), kNever);
  EXPECT_THROW(Queue(QueueConfig{.capacity = 0xFFFF'FFFE}), std::bad_alloc);
}

TYPED_TEST(OwnMemory, HoldsNoTimerOrIsRefusedWithTheMemoryForAll) {
  expect_none_and_too_many<TypeParam>();
}

TEST(OthersMemory, HoldsNoTimerOrIsRefusedWithTheMemoryForAll) {
  expect_none_and_too_many<BinaryHeap>();
  expect_none_and_too_many<QuadHeap>();
  expect_none_and_too_many<PairingHeap>();
  expect_none_and_too_many<FibonacciHeap>();
  expect_none_and_too_many<BTree>();
  expect_none_and_too_many<Skiplist>();
}

#ifndef NDEBUG
template <class Queue>
void expect_that_ids_are_asserted() {
  Queue queue(QueueConfig{.capacity = 10});
  EXPECT_DEATH(queue.schedule(10, 1), "id < ");
  EXPECT_DEATH(queue.cancel(10), "id < ");
}

TYPED_TEST(OwnMemory, AssertsThatIdsAreInRange) { expect_that_ids_are_asserted<TypeParam>(); }

TEST(OthersMemory, AssertThatIdsAreInRange) {
  expect_that_ids_are_asserted<BinaryHeap>();
  expect_that_ids_are_asserted<QuadHeap>();
  expect_that_ids_are_asserted<PairingHeap>();
  expect_that_ids_are_asserted<FibonacciHeap>();
  expect_that_ids_are_asserted<BTree>();
  expect_that_ids_are_asserted<Skiplist>();
}
#endif

template <class Queue>
class Rounding : public testing::Test {};

using QueuesThatRound =
    testing::Types<TickMap, Ring<512>, LogRing<512>, KafkaWheel<20>, LogWheel<256>, LinuxWheel>;
TYPED_TEST_SUITE(Rounding, QueuesThatRound);

TYPED_TEST(Rounding, RefusesAGranularityOfNothing) {
  EXPECT_THROW(TypeParam(QueueConfig{.capacity = 1, .granularity = 0}), std::invalid_argument);
}

// A place that is kNotPending would be that of no timer.
TYPED_TEST(IndexHeaps, RefusesMorePlacesThanNumbers) {
  EXPECT_THROW(TypeParam(QueueConfig{.capacity = 0xFFFF'FFFF}), std::bad_array_new_length);
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

using QueuesThatGrow =
    testing::Types<TickMap, Lawn, BinaryHeap, QuadHeap, PairingHeap, FibonacciHeap>;
TYPED_TEST_SUITE(ShortOfMemory, QueuesThatGrow);

// Timers are armed and moved where there may be no memory for it, and moved where there is.
TYPED_TEST(ShortOfMemory, StaysAsItWasWhenArmingFails) {
  constexpr TimerId kTimers = 300;
  TypeParam queue(QueueConfig{.capacity = kTimers});
  std::vector<Tick> deadlines(kTimers, kNever);
  int failures = 0;
  for (TimerId id = 0; id < kTimers; ++id) {
    const TimerId moved = id / 2;
    queue.schedule(moved, 1'000 + moved);
    deadlines[moved] = 1'000 + moved;
    for (const TimerId failing : {moved, id}) {
      const Tick deadline = 2'000 + id * 7919 % 2503;
      const std::size_t before = queue.size();
      if (runs_out_of_memory(0, [&] { queue.schedule(failing, deadline); })) {
        EXPECT_EQ(queue.size(), before);
        ++failures;
      } else {
        deadlines[failing] = deadline;
      }
    }
  }
  EXPECT_GT(failures, 0);
  expect_deadlines(queue, deadlines);
}

template <class Queue>
class Logs : public testing::Test {};
using QueuesOfLogs = testing::Types<LogWheel<256>, LogRing<512>, LogCalendar<256>>;
TYPED_TEST_SUITE(Logs, QueuesOfLogs);

TYPED_TEST(Logs, StayAsTheyWereWhenMemoryRunsOutWhileArming) {
  constexpr TimerId kTimers = 900;
  TypeParam queue(QueueConfig{.capacity = kTimers});
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

// All wait in one bucket, and each is moved nearer, so that its old entry dies.
TYPED_TEST(Logs, StayAsTheyWereWhenMemoryRunsOutWhileMovingNearer) {
  constexpr TimerId kTimers = 500;
  TypeParam queue(QueueConfig{.capacity = kTimers});
  std::vector<Tick> deadlines;
  for (TimerId id = 0; id < kTimers; ++id) {
    deadlines.push_back(511);
    queue.schedule(id, deadlines[id]);
  }
  std::size_t failures = 0;
  for (TimerId id = 0; id < kTimers; ++id) {
    const Tick deadline = 1 + id;
    if (runs_out_of_memory(0, [&] { queue.schedule(id, deadline); })) {
      ++failures;
    } else {
      deadlines[id] = deadline;
    }
  }
  EXPECT_GT(failures, 0U);
  EXPECT_LT(failures, kTimers);
  expect_deadlines(queue, deadlines);
}

// Each timer needs a chunk of its own then. There may be none left for any of them.
TEST(LogWheel, LosesNothingWhenMemoryRunsOutInACascade) {
  constexpr TimerId kTimers = 256;
  for (TimerId others = 0; others < 64; ++others) {
    LogWheel<256> queue({.capacity = 1'000});
    for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 512 + id);
    for (TimerId i = 0; i < others; ++i)
      queue.schedule(kTimers + i, 1'024 + 256 * i);  // a chunk each
    is_out_of_memory = true;
    EXPECT_THROW(queue.advance(512, IgnoreExpiry{}), std::bad_alloc);
    is_out_of_memory = false;
    EXPECT_EQ(queue.size(), kTimers + others);
    for (Tick now = 512; now < 512 + kTimers; ++now) {
      ASSERT_EQ(queue.advance(now, IgnoreExpiry{}), 1U) << now << ' ' << others;
    }
  }
}

// At 0: leaves so many in the next granule, of one timer, which moves from there to now and fires.
template <class Queue>
void leave_dead_entries(Queue& queue, TimerId moving, int entries) {
  for (int i = 0; i < entries; ++i) {
    for (const Tick due : {1, 0}) queue.schedule(moving, due);
    queue.advance(0, IgnoreExpiry{});
  }
}

constexpr TimerId kOthers = 2'000;  // timers that allow half as many entries to be dead

// Entries of one timer die in the bucket that begins next, as many as may while others wait. So many
// timers are armed there too, and moved to their deadlines by one store each. Then the others are
// cancelled, so that the bucket is swept. Returns whether memory runs out then.
template <class Deadline>
bool sweep_runs_out_of_memory(LogWheel<256>& queue, TimerId timers, Deadline&& deadline,
                              std::size_t allocations_left) {
  for (TimerId i = 0; i < kOthers; ++i) queue.schedule(timers + 1 + i, 1'000'000);
  leave_dead_entries(queue, timers, 1'000 + kOthers / 2);
  for (TimerId id = 0; id < timers; ++id) queue.schedule(id, 1);
  for (TimerId id = 0; id < timers; ++id) queue.schedule(id, deadline(id));
  for (TimerId i = 0; i < kOthers; ++i) queue.cancel(timers + 1 + i);
  const bool failed =
      runs_out_of_memory(allocations_left, [&] { leave_dead_entries(queue, timers, 300); });
  queue.cancel(timers);
  return failed;
}

// The bucket that begins next has a few timers, all moved by one store: the older ones to all other
// buckets of a level, the others to one. Some more have a chunk each in buckets of the next level, and
// half of these are cancelled.
TEST(LogWheel, LosesNothingWhenMemoryRunsOutInASweep) {
  constexpr TimerId kOlder = 549, kTimers = 610;
  const auto deadline = [](TimerId id) { return id < kOlder ? 1 + id % 511 : Tick{511}; };
  const auto sweep_fails = [&](TimerId others, std::size_t allocations_left) {
    constexpr TimerId kFirst = kTimers + 1 + kOthers;
    LogWheel<256> queue({.capacity = kFirst + others});
    for (TimerId i = 0; i < others; ++i) queue.schedule(kFirst + i, 512 + 256 * i);
    for (TimerId i = 0; i < others; i += 2) queue.cancel(kFirst + i);
    const bool failed = sweep_runs_out_of_memory(queue, kTimers, deadline, allocations_left);
    EXPECT_EQ(queue.size(), kTimers + others / 2);
    for (Tick now = 1; now <= 511; ++now) {
      std::size_t due = 0;
      for (TimerId id = 0; id < kTimers; ++id) due += deadline(id) == now;
      EXPECT_EQ(queue.advance(now, IgnoreExpiry{}), due) << now << ' ' << allocations_left;
    }
    EXPECT_EQ(queue.advance(200'000, IgnoreExpiry{}), others / 2);
    return failed;
  };
  for (const TimerId others : {0, 40, 480}) {
    std::size_t failures = 0;
    while (sweep_fails(others, failures) && !HasFailure()) ++failures;
    EXPECT_GT(failures, 0U) << others;
  }
}

// The bucket that begins next has timers that were all moved by one store, each to a bucket of its
// own. Those of level 2 are the first that go there.
TEST(LogWheel, LosesNothingWhenMemoryRunsOutInASweepThatUsesAnotherLevel) {
  constexpr TimerId kTimers = 1'500;
  const auto deadline = [](TimerId id) -> Tick {
    if (id < 510) return 2 + id;
    return id < 1'020 ? 512 + 256 * (id - 510) : 131'072 + 65'536 * (id - 1'020);
  };
  const auto sweep_fails = [&](std::size_t allocations_left) {
    LogWheel<256> queue({.capacity = kTimers + 1 + kOthers});
    const bool failed = sweep_runs_out_of_memory(queue, kTimers, deadline, allocations_left);
    EXPECT_EQ(queue.size(), kTimers);
    for (TimerId id = 0; id < kTimers; ++id) {
      EXPECT_EQ(queue.advance(deadline(id), IgnoreExpiry{}), 1U) << id << ' ' << allocations_left;
    }
    return failed;
  };
  std::size_t failures = 0;
  while (sweep_fails(failures) && !HasFailure()) ++failures;
  EXPECT_GT(failures, 8U);
}

// Gathers the ids of some logs in one, which may take memory to begin, and spreads them over some,
// with no memory but what reserve_for_all() has got. Before that, about so many chunks are free.
TEST(IdLogs, GatherAndSpreadWithinWhatWasReserved) {
  using Logs = IdLogs<1>;
  constexpr std::size_t kAll = ~std::size_t{0}, kChunks = 128;
  const auto nothing = [](TimerId) {};
  const auto fails = [&](TimerId ids, std::size_t sources, std::size_t targets) {
    Logs logs(kChunks / 2 * Logs::kIds);  // and a block
    std::vector<Logs::Log> from(sources), to(targets);
    for (TimerId id = 0; id < ids; ++id) logs.append(from[id % sources], id);
    logs.reserve_for_all(ids, targets);
    Logs::Log all;
    const auto gather = [&] {
      for (Logs::Log& log : from) {
        logs.take<0>(log, kAll, nothing, [&](TimerId id) { logs.append(all, id); });
      }
    };
    if (runs_out_of_memory(0, gather)) {
      EXPECT_TRUE(all.empty());
      gather();
    }
    return runs_out_of_memory(0, [&] {
      logs.take<0>(all, kAll, nothing, [&](TimerId id) { logs.append(to[id % targets], id); });
    });
  };
  for (const std::size_t sources : {1U, 2U, 5U}) {
    for (const std::size_t targets : {1U, 2U, 7U, 13U}) {
      for (std::size_t free = 0; free <= targets + Logs::kIds; ++free) {
        const auto most = static_cast<TimerId>((kChunks - free) * Logs::kIds);
        for (TimerId ids = most - Logs::kIds; ids <= most; ++ids) {
          ASSERT_FALSE(fails(ids, sources, targets))
              << ids << " of " << sources << " to " << targets << ", " << free << " free";
        }
      }
    }
  }
}

template <class Service>
class Stopping : public testing::Test {};
using Services = testing::Types<Locked<BinaryHeap>, DelayQueue, JavaTimer, RingTimer, SystemTimer,
                                Sharded<Locked<BinaryHeap>, 4>>;
TYPED_TEST_SUITE(Stopping, Services);

// The thread that stops a service has the memory for what it takes before it takes it.
TYPED_TEST(Stopping, HandsBackAllTimersWhenMemoryRunsOut) {
  constexpr TimerId kTimers = 80;
  const auto stop_fails = [&](std::size_t allocations_left) {
    ManualClock clock;
    TypeParam service({.capacity = kTimers, .clock = clock, .handler = [](TimerId, Tick) {}});
    for (TimerId id = 0; id < kTimers; ++id) service.schedule(id, 1'000'000'000 + id);
    clock.settle();
    std::vector<PendingTimer> pending;
    const bool failed = runs_out_of_memory(allocations_left, [&] { pending = service.stop(); });
    if (failed) pending = service.stop();
    EXPECT_EQ(pending.size(), kTimers) << allocations_left;
    return failed;
  };
  std::size_t failures = 0;
  while (stop_fails(failures) && !this->HasFailure()) ++failures;
  EXPECT_GT(failures, 0U);
}

template <class Queue>
class OrderedLogs : public testing::Test {
 protected:
  static constexpr TimerId kTimers = 3'000, kOverdue = 122;
  static constexpr TimerId kLater = 31;  // of the overdue ones have moved to after 400

  // Calls then(queue, others) for queues in which memory has run out among what is overdue: some such
  // timers have been found when there is no chunk left for another that is due later. So many other
  // timers are due from 20 on.
  template <class Then>
  void for_each_interruption(Then&& then) {
    std::size_t interruptions = 0;
    for (TimerId others = 0; others < 300 && !this->HasFailure(); ++others) {
      Queue queue(QueueConfig{.capacity = kTimers, .start = 10});
      for (TimerId id = 0; id < kOverdue; ++id) queue.schedule(id, 10);
      ASSERT_EQ(queue.advance(10, IgnoreExpiry{}), kOverdue);  // so there is memory to sort them
      for (TimerId i = 0; i < others; ++i) queue.schedule(kOverdue + i, 20 + i);  // a chunk each
      for (TimerId id = 0; id < kOverdue; ++id) queue.schedule(id, 9);
      for (TimerId id = kOverdue / 2; id < kOverdue; id += 2) queue.schedule(id, 400 + id);
      const std::size_t entries = queue.entries();
      if (!fails(queue, 0) || queue.entries() == entries) continue;
      ++interruptions;
      then(queue, others);
    }
    EXPECT_GT(interruptions, 0U);
  }

  // Whether the advance() to 10 runs out of memory.
  static bool fails(Queue& queue, std::size_t allocations_left) {
    return runs_out_of_memory(allocations_left, [&] { queue.advance(10, IgnoreExpiry{}); });
  }
};

TYPED_TEST_SUITE(OrderedLogs, QueuesOfLogs);

TYPED_TEST(OrderedLogs, LoseNothingWhenThereIsNoMemoryToSortWhatIsOverdue) {
  constexpr TimerId kTimers = 100;
  TypeParam queue(QueueConfig{.capacity = kTimers, .start = 1'000});
  for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, id);
  is_out_of_memory = true;
  EXPECT_THROW(queue.advance(1'000, IgnoreExpiry{}), std::bad_alloc);
  is_out_of_memory = false;
  EXPECT_EQ(queue.size(), kTimers);
  EXPECT_EQ(queue.advance(1'000, IgnoreExpiry{}), kTimers);
}

TYPED_TEST(OrderedLogs, LoseNothingWhenMemoryRunsOutAmongWhatIsOverdue) {
  this->for_each_interruption([&](TypeParam& queue, TimerId others) {
    EXPECT_EQ(queue.size(), this->kOverdue + others);
    EXPECT_EQ(queue.advance(10, IgnoreExpiry{}), this->kOverdue - this->kLater) << others;
    EXPECT_EQ(queue.size(), this->kLater + others);
  });
}

// What was found is not found again, but its deadline may be another.
TYPED_TEST(OrderedLogs, FireInOrderWhatIsMovedAfterMemoryRanOut) {
  this->for_each_interruption([&](TypeParam& queue, TimerId) {
    for (TimerId id = 0; id < this->kOverdue; ++id) queue.schedule(id, id * 37 % 10);
    std::vector<Tick> fired;
    queue.advance(10, [&](TimerId, Tick deadline) { fired.push_back(deadline); });
    EXPECT_EQ(fired.size(), this->kOverdue);
    EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end()));
  });
}

// There is memory to sort as many as before, but a part of that is in use.
TYPED_TEST(OrderedLogs, LoseNothingThatIsArmedAfterMemoryRanOut) {
  this->for_each_interruption([&](TypeParam& queue, TimerId others) {
    const TimerId more = others % 61;
    for (TimerId i = 0; i < more; ++i) queue.schedule(1'000 + i, 5);
    for (const std::size_t allocations_left : {1, 2}) this->fails(queue, allocations_left);
    queue.advance(10, IgnoreExpiry{});
    EXPECT_EQ(queue.size(), this->kLater + others);
  });
}

// All that was overdue moves on. Then memory may run out again, and the clock jumps.
TYPED_TEST(OrderedLogs, LoseNothingThatIsMovedAfterMemoryRanOut) {
  const auto deadline = [](TimerId id) { return 100'000 + 300 * id; };
  this->for_each_interruption([&](TypeParam& queue, TimerId others) {
    for (TimerId id = 0; id < this->kOverdue; ++id) queue.schedule(id, deadline(id));
    if (others % 2 == 0) {
      is_out_of_memory = true;
      TimerId far = this->kOverdue + others;  // takes the last chunks
      EXPECT_THROW(for (; far < this->kTimers; ++far) queue.schedule(far, far * Tick{16'777'217}),
                   std::bad_alloc);
      for (const std::size_t allocations_left : {1, 2}) this->fails(queue, allocations_left);
      EXPECT_EQ(queue.size(), far);
    }
    EXPECT_EQ(queue.advance(99'999, IgnoreExpiry{}), others);
    for (TimerId id = 0; id < this->kOverdue; ++id) {
      ASSERT_LE(queue.next_wakeup(), deadline(id));
      ASSERT_EQ(queue.advance(deadline(id), IgnoreExpiry{}), 1U) << id << ' ' << others;
    }
  });
}

// After a fire, more entries are dead than there may be, and all are in the bucket that begins next.
TYPED_TEST(OrderedLogs, SleepWhileNothingIsDueWhateverIsDead) {
  constexpr TimerId kMoved = 1'300, kWaiting = 200;
  TypeParam queue(QueueConfig{.capacity = 3'000});
  for (const Tick deadline : {500, 400}) {
    for (TimerId id = 0; id < kMoved; ++id) queue.schedule(id, deadline);
  }
  for (TimerId id = 2'000; id < 2'000 + kWaiting; ++id) queue.schedule(id, 2);
  for (TimerId id = 0; id < kMoved; ++id) queue.cancel(id);
  queue.schedule(2'999, 1);
  EXPECT_EQ(queue.advance(1, IgnoreExpiry{}), 1u);
  EXPECT_EQ(queue.next_wakeup(), 2u);
  EXPECT_EQ(queue.advance(2, IgnoreExpiry{}), kWaiting);
}

// Each timer is due at once, then in the next granule; its entry there dies each time. Others may
// wait for later: no sweep of theirs finds one that is dead.
TYPED_TEST(OrderedLogs, HaveFewDeadEntriesWhileTheClockStandsStill) {
  constexpr TimerId kTimers = 3'000;
  constexpr Tick kNow = 70'000;
  for (const TimerId later : {0, 1, 100}) {
    TypeParam queue(QueueConfig{.capacity = kTimers + later, .start = kNow});
    for (TimerId i = 0; i < later; ++i) queue.schedule(kTimers + i, kNow + 400 + i);
    for (int round = 0; round < 10; ++round) {
      for (TimerId id = 0; id < kTimers; ++id) {
        queue.schedule(id, kNow + 1);
        queue.schedule(id, kNow);
        queue.schedule(id, kNow + 1);
        EXPECT_EQ(queue.advance(kNow, IgnoreExpiry{}), 0u);
      }
      ASSERT_LE(queue.entries(), 2 * (kTimers + 1024u)) << round;
    }
    EXPECT_EQ(queue.next_wakeup(), kNow + 1);
    EXPECT_EQ(queue.advance(kNow + 1, IgnoreExpiry{}), kTimers);
    EXPECT_EQ(queue.advance(kNow + 500, IgnoreExpiry{}), later);
  }
}

// All timers are armed for the granule after the next, then for the next, so that their first entries
// die, and then for later, by one store. Then all are cancelled, and it begins again. While the clock
// stands still, each call sweeps a part of what has died or moved away.
TYPED_TEST(Logs, SweepAPartAtATimeWhileTheClockStandsStill) {
  constexpr TimerId kTimers = 20'000;
  constexpr Tick kNow = 70'000;
  TypeParam queue(QueueConfig{.capacity = kTimers, .start = kNow});
  std::uint64_t most = 0, all = 0;
  const auto schedule = [&](TimerId id, Tick deadline) {
    const AdvanceWork before = queue.work();
    queue.schedule(id, deadline);
    const AdvanceWork after = queue.work();
    const std::uint64_t swept = after.moved + after.passed - before.moved - before.passed;
    most = std::max(most, swept);
    all += swept;
  };
  for (int round = 0; round < 5; ++round) {
    for (const Tick ahead : {2, 1, 400}) {
      for (TimerId id = 0; id < kTimers; ++id) schedule(id, kNow + ahead);
    }
    EXPECT_LE(queue.entries(), 2u * kTimers);
    for (TimerId id = 0; id < kTimers; ++id) queue.cancel(id);
  }
  EXPECT_GT(all, kTimers / 2);
  EXPECT_LE(most, 90u);
  for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, kNow + 1 + id % 2);
  EXPECT_EQ(queue.advance(kNow + 1, IgnoreExpiry{}), kTimers / 2);
  EXPECT_EQ(queue.advance(kNow + 2, IgnoreExpiry{}), kTimers / 2);
}

// Timers wait in the next granule, where a sweep has kept them: there are dead entries beneath theirs,
// as many as are allowed while others are pending.
template <class Queue>
class KeptTimers {
 public:
  static constexpr TimerId kTimers = 2'000, kOthers = 3'000, kMoving = kTimers + kOthers;

  Queue queue{QueueConfig{.capacity = kTimers + kOthers + 1}};

  KeptTimers() {
    for (TimerId i = 0; i < kOthers; ++i) queue.schedule(kTimers + i, 1'000'000);
    leave_dead_entries(queue, kMoving, 1'000 + kOthers / 2);
    for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 1);
    for (TimerId i = 0; i < kOthers; ++i) queue.cancel(kTimers + i);
    leave_dead_entries(queue, kMoving, 200);
  }
};

TYPED_TEST(Logs, CountWhatTheyHaveKept) {
  KeptTimers<TypeParam> kept;
  const std::size_t before = kept.queue.entries();
  EXPECT_EQ(kept.queue.advance(1, IgnoreExpiry{}), kept.kTimers);
  EXPECT_GT(before - kept.queue.entries(), kept.kTimers + 1'900u);  // and what was dead
}

TYPED_TEST(Logs, DropWhatTheyHaveKept) {
  for (const int entries : {0, 1'000}) {
    KeptTimers<TypeParam> kept;
    TypeParam& queue = kept.queue;
    for (TimerId id = 0; id < kept.kTimers; ++id) queue.schedule(id, 0);
    EXPECT_EQ(queue.advance(0, IgnoreExpiry{}), kept.kTimers);
    leave_dead_entries(queue, kept.kMoving, entries);
    for (Tick deadline = 510; deadline > 200; --deadline) {
      for (TimerId id = 1; id < 20; ++id) queue.schedule(id, deadline);
    }
    EXPECT_LE(queue.entries(), 1'200u);
    EXPECT_EQ(queue.next_wakeup(), 201u);
  }
}

// What is kept is opened when no memory is left. Then a sweep has to do with the granule after it.
TYPED_TEST(Logs, LoseNothingThatWasKeptWhenMemoryRunsOut) {
  for (TimerId others = 0; others < 130; ++others) {
    KeptTimers<TypeParam> kept;
    TypeParam& queue = kept.queue;
    for (TimerId i = 0; i < others; ++i) queue.schedule(kept.kTimers + i, 100 + i);  // a chunk each
    std::size_t fired = 0;
    const auto advance = [&] { queue.advance(1, [&](TimerId, Tick) { ++fired; }); };
    runs_out_of_memory(0, advance);
    for (TimerId i = others; i < kept.kOthers; ++i) {
      for (const Tick due : {3, 2}) queue.schedule(kept.kTimers + i, due);
    }
    for (const std::size_t allocations_left : {0, 1, 2}) {
      runs_out_of_memory(allocations_left, advance);
    }
    advance();
    EXPECT_EQ(fired, kept.kTimers) << others;
    EXPECT_EQ(queue.advance(2, IgnoreExpiry{}), kept.kOthers - others);
  }
}

// In a bucket of an upper level that begins with the next granule, timers are due there.
TYPED_TEST(Logs, KeepWhatIsDueWhenAnUpperBucketBegins) {
  constexpr TimerId kTimers = 100, kMoving = 10;
  TypeParam queue(QueueConfig{.capacity = kTimers + kMoving});
  for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 512);
  queue.advance(511, IgnoreExpiry{});
  for (Tick deadline = 1'000; deadline > 700; --deadline) {
    for (TimerId i = 0; i < kMoving; ++i) {
      queue.schedule(kTimers + i, deadline);
      ASSERT_EQ(queue.next_wakeup(), 512u);
    }
  }
  EXPECT_EQ(queue.advance(512, IgnoreExpiry{}), kTimers);
}

// An upper bucket begins when no memory is left to cascade it. Then its timers are armed for the past.
TYPED_TEST(Logs, FireInOrderWhatACascadeWithoutMemoryHasLeft) {
  constexpr TimerId kOthers = 40;
  std::size_t failures = 0;
  for (TimerId timers = 1; timers < 100; ++timers) {
    TypeParam queue(QueueConfig{.capacity = 200});
    for (TimerId i = 0; i < kOthers; ++i) queue.schedule(100 + i, 25'600 + 256 * Tick{i});
    for (TimerId id = 0; id < timers; ++id) queue.schedule(id, 1'000);
    failures += runs_out_of_memory(0, [&] { queue.advance(768, IgnoreExpiry{}); });
    for (TimerId id = 0; id < timers; ++id) queue.schedule(id, 100 + id * 37 % 101);
    queue.schedule(199, 150);
    std::vector<Tick> fired;
    queue.advance(768, [&](TimerId, Tick deadline) { fired.push_back(deadline); });
    EXPECT_EQ(fired.size(), timers + 1) << timers;
    EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end())) << timers;
    EXPECT_EQ(queue.advance(99'999, IgnoreExpiry{}), kOthers);
  }
  EXPECT_GT(failures, 0u);
}

// The same with a bucket of one tick, and with a wide one that is short and was opened before.
TYPED_TEST(Logs, FireInOrderWhatAnOpeningWithoutMemoryHasLeft) {
  std::size_t failures = 0;
  for (const Tick due : {100, 100'000}) {
    for (TimerId others = 0; others < 230; ++others) {
      TypeParam queue(QueueConfig{.capacity = 400});
      for (TimerId id = 0; id < 20; ++id) queue.schedule(id, due);
      queue.advance(due - 1, IgnoreExpiry{});
      // They fill an agenda, then each takes a chunk.
      for (TimerId i = 0; i < others; ++i) queue.schedule(100 + i, due + 1 + i % 90);
      queue.schedule(398, due);  // beside a full agenda, it has a bucket at the same tick
      for (TimerId id = 0; id < 20; id += 2) queue.schedule(id, due + 100'000);
      failures += runs_out_of_memory(0, [&] { queue.advance(due, IgnoreExpiry{}); });
      queue.cancel(398);
      const std::size_t left = queue.size() - others;
      for (TimerId id = 0; id < 20; ++id) queue.schedule(id, 40 + id * 7 % 20);
      queue.schedule(399, 50);
      std::vector<Tick> fired;
      queue.advance(due, [&](TimerId, Tick deadline) { fired.push_back(deadline); });
      EXPECT_EQ(fired.size(), 21u) << others << ' ' << left;
      EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end())) << others << ' ' << left;
    }
  }
  EXPECT_GT(failures, 0u);
}

// So tight that sweeps go on all the time.
constexpr LogDesign kTight{.lines = 1, .at_once = 4, .slack = 8};
constexpr LogDesign kTightCalendar{.at_once = 4, .slack = 8};
constexpr LogDesign kTightRing{.lines = 1, .slack = 8, .is_ring = true};

template <class Queue>
class TightLogs : public testing::Test {};
using TightQueues =
    testing::Types<LogWheel<64, kTight>, LogRing<64, kTightRing>, LogCalendar<64, kTightCalendar>>;
TYPED_TEST_SUITE(TightLogs, TightQueues);

// Timers are armed, moved and cancelled at random, most of them within the next granules, and memory
// runs out now and then. All that is due fires in order, and nothing else. In the end all entries
// are gone, and the queue knows that none is dead: as many as may be dead are left without a sweep.
TYPED_TEST(TightLogs, LoseNothingWhateverHappens) {
  constexpr TimerId kTimers = 400;
  std::size_t failures = 0;
  for (std::uint64_t seed = 0; seed < 40 && !this->HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    TypeParam queue(QueueConfig{.capacity = kTimers});
    std::vector<Tick> deadlines(kTimers, kNever);
    const auto is_pending = [](Tick deadline) { return deadline != kNever; };
    Tick now = 0;
    const auto advance = [&] {
      queue.advance(now, [&, last = Tick{0}](TimerId id, Tick deadline) mutable {
        EXPECT_EQ(std::exchange(deadlines[id], kNever), deadline) << id;
        EXPECT_LE(deadline, now) << id;
        EXPECT_LE(std::exchange(last, deadline), deadline) << id;
      });
      for (const Tick deadline : deadlines) ASSERT_TRUE(deadline > now) << deadline;
    };
    const std::size_t near = 1 + below(kTimers);  // ids of timers that are often moved
    for (int i = 0; i < 6'000 && !this->HasFailure(); ++i) {
      const auto id = static_cast<TimerId>(below(4) == 0 ? below(kTimers) : below(near));
      const Tick end_of_block = now | 63;
      const Tick past = now - std::min(now, below(50));
      const Tick deadline = std::array{now + below(2'000),
                                       end_of_block + 1 + 64 * below(9),
                                       now + below(4),
                                       now + below(3),
                                       now + 1,
                                       past}[below(6)];
      const std::size_t allocations_left = below(3) == 0 ? 0 : kNever;
      switch (below(40)) {
        case 0:
          now = below(20) == 0   ? now + below(3'000)
                : below(10) == 0 ? end_of_block
                                 : now + below(3);
          failures += runs_out_of_memory(allocations_left, advance);
          break;
        case 1:
          EXPECT_EQ(queue.cancel(id), is_pending(deadlines[id]));
          deadlines[id] = kNever;
          break;
        default:
          if (runs_out_of_memory(allocations_left, [&] { queue.schedule(id, deadline); })) {
            ++failures;
          } else {
            deadlines[id] = deadline;
          }
      }
      const auto pending = static_cast<std::size_t>(std::ranges::count_if(deadlines, is_pending));
      ASSERT_EQ(queue.size(), pending);
      ASSERT_LE(queue.next_wakeup(), std::max(now, *std::ranges::min_element(deadlines)));
      ASSERT_GE(queue.entries(), pending);
      ASSERT_GE(queue.entries(), queue.queued());
      ASSERT_LE(queue.entries(), kTimers + kTimers / 2 + 200);
    }
    now += 10'000;
    advance();
    advance();
    EXPECT_EQ(queue.size(), 0u);
    EXPECT_EQ(queue.entries(), 0u);
    for (Tick entries = 1; entries <= kTight.slack + 2; ++entries) {
      queue.schedule(0, now + 60 - entries);
      EXPECT_EQ(queue.entries(), entries);
    }
  }
  EXPECT_GT(failures, 0u);
}

// Two buckets begin at once. The wider one is short and goes to the agenda, then there is no memory
// to cascade the other.
TEST(LogCalendar, KeepsOrderWhenMemoryRunsOutInACascade) {
  constexpr TimerId kTimers = 103;
  constexpr Tick kBegin = 2 * 65'536;
  LogCalendar<256> queue({.capacity = kTimers});
  for (TimerId id = 0; const Tick ahead : {50'000, 1'000, 20'000}) {
    queue.schedule(id++, kBegin + ahead);
  }
  queue.advance(70'000, IgnoreExpiry{});
  for (TimerId id = 3; id < kTimers; ++id) queue.schedule(id, kBegin + id);
  is_out_of_memory = true;
  EXPECT_THROW(queue.advance(kBegin, IgnoreExpiry{}), std::bad_alloc);
  is_out_of_memory = false;
  EXPECT_EQ(queue.agenda_size(), 3U);
  std::vector<Tick> fired;
  queue.advance(2 * kBegin, [&](TimerId, Tick deadline) { fired.push_back(deadline); });
  EXPECT_EQ(fired.size(), kTimers);
  EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end()));
}

// What is in the agenda was moved later by one store each. Then there is no chunk for one of them.
TEST(LogCalendar, LosesNothingWhenMemoryRunsOutInTheAgenda) {
  constexpr TimerId kMoved = 20;
  std::size_t failures = 0;
  for (TimerId others = 0; others < 70; ++others) {
    LogCalendar<256> queue({.capacity = 100});
    for (TimerId id = 0; id < kMoved; ++id) queue.schedule(id, 1'000 + id);
    queue.advance(900, IgnoreExpiry{});
    ASSERT_EQ(queue.agenda_size(), kMoved);
    for (TimerId i = 0; i < others; ++i)
      queue.schedule(kMoved + i, 30'000 + 256 * i);  // a chunk each
    for (TimerId id = 0; id < kMoved; ++id) queue.schedule(id, 10'000 + 256 * id);
    failures += runs_out_of_memory(0, [&] { queue.advance(2'000, IgnoreExpiry{}); });
    for (TimerId id = 0; id < kMoved; ++id) {
      EXPECT_EQ(queue.advance(10'000 + 256 * id, IgnoreExpiry{}), 1U) << id << ' ' << others;
    }
  }
  EXPECT_GT(failures, 0U);
}

// All timers wait in one slot, and each was moved to a slot of its own by one store.
TEST(LogRing, LosesNothingWhenMemoryRunsOutInAJump) {
  constexpr TimerId kTimers = 5'000;
  const auto jump_fails = [&](std::size_t allocations_left) {
    LogRing<512> queue({.capacity = kTimers});
    for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 1'000);
    for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 10'000 + id);
    const bool failed =
        runs_out_of_memory(allocations_left, [&] { queue.advance(9'999, IgnoreExpiry{}); });
    EXPECT_EQ(queue.size(), kTimers);
    for (TimerId id = 0; id < kTimers; ++id) {
      EXPECT_LE(queue.next_wakeup(), 10'000 + id);
      EXPECT_EQ(queue.advance(10'000 + id, IgnoreExpiry{}), 1U) << id;
    }
    return failed;
  };
  std::size_t failures = 0;
  while (jump_fails(failures) && !HasFailure()) ++failures;
  EXPECT_GT(failures, 1U);
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

// The example in its header.
TEST(CalendarQueue, EstimatesTheWidthFromTheFirstTimers) {
  CalendarQueue queue({.capacity = 5});
  for (TimerId id = 0; const Tick deadline : {1, 11, 21, 100}) queue.schedule(id++, deadline);
  EXPECT_EQ(queue.buckets(), 2U);
  EXPECT_EQ(queue.width(), 1U);
  queue.schedule(4, 31);
  EXPECT_EQ(queue.buckets(), 4U);
  EXPECT_EQ(queue.width(), 30U);
  EXPECT_EQ(queue.advance(1, IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.next_wakeup(), 11U);
}

TEST(CalendarQueue, HasAsManyBucketsAsTimersWithinAFactorOfTwo) {
  constexpr TimerId kTimers = 5000;
  CalendarQueue queue({.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) {
    queue.schedule(id, 1 + id * 7919 % 100'000);
    EXPECT_LE(queue.size(), 2 * queue.buckets());
  }
  for (TimerId id = 0; id < kTimers; ++id) {
    if (id % 2 == 0) queue.cancel(id);
    if (id % 2 == 1) queue.advance(queue.next_wakeup(), IgnoreExpiry{});
    EXPECT_TRUE(queue.buckets() == 2 || queue.size() + 2 >= queue.buckets() / 2);
  }
}

// The first 25 timers are due at once, the others far apart: days of one tick, of which nearly all
// are empty.
TEST(CalendarQueue, PassesAYearOfEmptyDaysForEachFireIfTheFirstTimersMislead) {
  constexpr TimerId kTimers = 1000;
  CalendarQueue queue({.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, id < 25 ? 1 : Tick{100'000} * id);
  EXPECT_EQ(queue.width(), 1U);
  queue.advance(1, IgnoreExpiry{});
  const std::uint64_t before = queue.work().passed;
  EXPECT_EQ(queue.advance(queue.next_wakeup(), IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.work().passed - before, 2 * queue.buckets());
}

// The example in its header.
TEST(LadderQueue, SortsABucketWhenTheClockComesToIt) {
  LadderQueue queue({.capacity = 103});
  for (TimerId id = 0; id < 100; ++id) queue.schedule(id, Tick{20} * (id + 1));
  EXPECT_TRUE(queue.widths().empty());
  EXPECT_EQ(queue.advance(20, IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.widths(), std::vector<Tick>{32});
  EXPECT_EQ(queue.next_wakeup(), 32U);
  queue.schedule(100, 30);
  queue.schedule(101, 60);
  queue.schedule(102, 2001);
  EXPECT_EQ(queue.next_wakeup(), 30U);
  EXPECT_EQ(queue.advance(51, IgnoreExpiry{}), 2U);
  EXPECT_EQ(queue.next_wakeup(), 60U);
}

TEST(LadderQueue, SpreadsBottomWhenAnInsertWouldPassTooMany) {
  LadderQueue queue({.capacity = 54});
  queue.schedule(0, 1);
  queue.schedule(1, 1'000'000);
  queue.advance(1, IgnoreExpiry{});
  for (TimerId id = 2; id < 53; ++id) queue.schedule(id, 1000 - id);  // the last one passes 50
  EXPECT_EQ(queue.widths(), std::vector<Tick>{1 << 19});
  queue.schedule(53, 900);
  EXPECT_EQ(queue.widths(), (std::vector<Tick>{1 << 19, 1 << 13, 1 << 7}));
  EXPECT_EQ(queue.advance(900, IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.advance(998, IgnoreExpiry{}), 51U);
}

TEST(LadderQueue, NeverSpreadsEqualDeadlines) {
  constexpr TimerId kTimers = 10'000;
  LadderQueue queue({.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, id == 0 ? 1 : kNever - 1);
  EXPECT_EQ(queue.advance(1, IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.advance(kNever - 1, IgnoreExpiry{}), kTimers - 1U);
  EXPECT_LE(queue.work().moved, 2 * 12 * kTimers);
}

// What a rung covers ends where Top begins, also in the middle of a bucket.
TEST(LadderQueue, FiresFromTopWhatIsDueWithinTheLastBucket) {
  LadderQueue queue({.capacity = 200});
  for (TimerId id = 0; id < 100; ++id) queue.schedule(id, 1000 + id % 2 * 9000);
  EXPECT_EQ(queue.advance(1000, IgnoreExpiry{}), 50U);
  for (TimerId id = 100; id < 200; ++id) queue.schedule(id, 9985 + id % 32);
  std::size_t fired = 0;
  for (Tick now = 9985; now < 9985 + 32; ++now) fired += queue.advance(now, IgnoreExpiry{});
  EXPECT_EQ(fired, 150U);
}

// The example in its header.
TEST(SegmentTree, SplitsAFullSegmentAndJoinsSmallNeighbours) {
  SegmentTree queue({.capacity = 18});
  for (TimerId id = 0; id < 16; ++id) queue.schedule(id, Tick{10} * (id + 1));
  EXPECT_EQ(queue.segments(), 1U);
  queue.schedule(16, 15);
  queue.schedule(17, 89);
  EXPECT_EQ(queue.segments(), 2U);
  for (const TimerId id : {12U, 13U, 14U, 15U, 7U}) queue.cancel(id);
  EXPECT_EQ(queue.segments(), 2U);
  queue.cancel(17);
  EXPECT_EQ(queue.segments(), 1U);
}

TEST(SegmentTree, AChainStaysFull) {
  constexpr TimerId kTimers = 1600;
  SegmentTree queue({.capacity = kTimers + 2});
  for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 100);
  EXPECT_EQ(queue.segments(), kTimers / 16);
  queue.schedule(kTimers, 99);
  queue.schedule(kTimers + 1, 101);
  EXPECT_EQ(queue.segments(), kTimers / 16 + 2);
  for (TimerId id = 0; id < kTimers; ++id) {
    if (id % 16 != 0) queue.cancel(id);
  }
  EXPECT_EQ(queue.segments(), kTimers / 16 / 16 + 3);
  EXPECT_EQ(queue.advance(99, IgnoreExpiry{}), 1U);
  EXPECT_EQ(queue.advance(100, IgnoreExpiry{}), kTimers / 16);
  EXPECT_EQ(queue.advance(101, IgnoreExpiry{}), 1U);
}

TEST(SegmentTree, KeepsFewSegmentsWhateverIsCancelled) {
  constexpr TimerId kTimers = 10'000;
  SegmentTree queue({.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 1 + id * 7919U % 100'003U);
  for (TimerId id = 0; id < kTimers; ++id) {
    if (id % 10 != 0) queue.cancel(id);
    EXPECT_LE(queue.segments(), queue.size() / 6 + 3);
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
