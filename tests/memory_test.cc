// The memory pass, in a program that counts its allocations.
#include "replay/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "queues/kafka_wheel.h"
#include "queues/log_calendar.h"
#include "queues/log_wheel.h"
#include "queues/ordered_map.h"
#include "system/allocations.h"
#include "trace/model.h"
#include "workloads/workload.h"

namespace timerbench {
namespace {

const StopFlag kNoStop{false};

Trace trace_of(std::string_view name, TimerId size, std::uint64_t items = 0) {
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload.generate({.size = size, .items = items});
  }
  return Trace({}, {});
}

Trace fill(TimerId size) { return trace_of("fill", size); }

TEST(AllocationsTest, AreCountedWithTheirPeak) {
  ASSERT_TRUE(allocations_are_counted());
  const Allocations before = allocations();
  reset_allocation_peak();
  {
    const auto large = std::make_unique<std::vector<char>>(1'000'000);
    EXPECT_EQ(allocations().made - before.made, 2U);
    EXPECT_GE(allocations().bytes - before.bytes, 1'000'000U);
  }
  EXPECT_EQ(allocations().bytes, before.bytes);
  EXPECT_GE(allocations().peak - before.bytes, 1'000'000U);
  EXPECT_LT(allocations().peak - before.bytes, 1'010'000U);
}

TEST(AllocationsTest, WhatHasShrunkHasNotGrown) {
  EXPECT_EQ(growth(3, 5), 2U);
  EXPECT_EQ(growth(5, 3), 0U);
}

TEST(MemoryTest, OfAQueueThatAllocatesForEachTimer) {
  const Trace trace = fill(10'000);
  const MemoryUse use =
      replay_memory<Model>({.capacity = 10'000}, trace.setup(), trace.measured(), kNoStop);
  EXPECT_GE(use.empty, 80'000U);  // an instant for each id
  EXPECT_LT(use.empty, 81'000U);
  EXPECT_EQ(use.most_pending, 10'000U);
  EXPECT_EQ(use.made, 10'000U);  // a node for each timer
  // A node is 48 bytes or a little more.
  EXPECT_NEAR(static_cast<double>(use.at_most_pending - use.empty) / 10'000, 56, 9);
  EXPECT_GE(use.peak, use.at_most_pending);
  EXPECT_NEAR(static_cast<double>(use.drained), static_cast<double>(use.empty), 100);
  EXPECT_EQ(use.outcome.pending, 10'000U);
}

TEST(MemoryTest, OfAQueueThatAllocatesOnceForAll) {
  const Trace trace = fill(10'000);
  const MemoryUse use = replay_memory<KafkaWheel<256>>({.capacity = 10'000}, trace.setup(),
                                                       trace.measured(), kNoStop);
  EXPECT_EQ(use.made, 0U);
  EXPECT_EQ(use.at_most_pending, use.empty);
}

// Has a megabyte within itself.
class Broad : public Model {
 public:
  using Model::Model;

 private:
  std::array<char, 1'000'000> within_{};
};

template <class Queue>
double most_bytes_a_timer(const Trace& trace) {
  const MemoryUse use = replay_memory<Queue>({.capacity = trace.info().capacity}, trace.setup(),
                                             trace.measured(), kNoStop);
  return static_cast<double>(use.peak) / static_cast<double>(use.most_pending);
}

// 16 bytes an id and 4.2 an entry, of which a part is dead, beside some 33 KiB of the object.
TEST(MemoryTest, OfLogsIsAtMost24BytesATimer) {
  for (const std::string_view workload : {"churn", "keepalive", "hold"}) {
    const Trace trace = trace_of(workload, 100'000);
    EXPECT_LE(most_bytes_a_timer<LogWheel<256>>(trace), 24) << workload;
    EXPECT_LE(most_bytes_a_timer<LogCalendar<256>>(trace), 24) << workload;
  }
}

// What memory there is when the most timers are pending, without the object and half a chunk for each
// of its buckets.
template <class Queue>
double bytes_an_id(const Trace& trace) {
  const TimerId ids = trace.info().capacity;
  const MemoryUse use =
      replay_memory<Queue>({.capacity = ids}, trace.setup(), trace.measured(), kNoStop);
  return (static_cast<double>(use.at_most_pending) - sizeof(Queue) - 1'000 * 128) / ids;
}

// Most loads have an id for each pending timer.
TEST(MemoryTest, OfLogsIsAtMost24BytesAnIdInAnyLoad) {
  for (const Workload& workload : workloads()) {
    const Trace trace = trace_of(workload.name, 100'000, 300'000);
    EXPECT_LE(bytes_an_id<LogWheel<256>>(trace), 24) << workload.name;
    EXPECT_LE(bytes_an_id<LogCalendar<256>>(trace), 24) << workload.name;
  }
}

TEST(MemoryTest, WhatIsWithinTheQueueCounts) {
  const std::vector<Op> ops{schedule_op(0, 9)};
  const MemoryUse use = replay_memory<Broad>({.capacity = 1}, {}, std::span(ops), kNoStop);
  for (const std::uint64_t bytes : {use.empty, use.at_most_pending, use.peak, use.drained}) {
    EXPECT_GE(bytes, 1'000'000U);
    EXPECT_LT(bytes, 1'010'000U);
  }
}

// Takes 10 MB for a moment whenever a timer is armed.
class Wasteful : public Model {
 public:
  using Model::Model;
  void schedule(TimerId id, Tick deadline) {
    const std::vector<char> buffer(10'000'000);
    Model::schedule(id, deadline + buffer.size());
  }
};

TEST(MemoryTest, WhatIsTakenForAMomentIsInThePeakOnly) {
  const std::vector<Op> ops{schedule_op(0, 9), schedule_op(1, 9)};
  const MemoryUse use = replay_memory<Wasteful>({.capacity = 2}, {}, std::span(ops), kNoStop);
  EXPECT_GE(use.peak, 10'000'000U);
  EXPECT_LT(use.at_most_pending, 10'000U);
  EXPECT_EQ(use.made, 4U);  // buffers and nodes
}

TEST(MemoryTest, WhatTheProcessHadAndHasBesidesDoesNotCount) {
  constexpr std::size_t kMuch = 50'000'000;
  std::make_unique<std::vector<char>>(2 * kMuch).reset();
  const std::vector<char> held(kMuch, 'x');
  const Trace trace = fill(1'000);
  const MemoryUse use =
      replay_memory<Model>({.capacity = 1'000}, trace.setup(), trace.measured(), kNoStop);
  EXPECT_LT(use.empty, 20'000U);
  EXPECT_LT(use.peak, 2'000'000U);
  EXPECT_LT(use.drained, 20'000U);
  EXPECT_LT(use.resident, 20'000'000U);
  EXPECT_LT(use.resident_drained, 20'000'000U);
}

// Takes 50 MB for good.
class Large : public Model {
 public:
  explicit Large(const QueueConfig& config) : Model(config), taken_(50'000'000, 'x') {}

 private:
  std::vector<char> taken_;
};

TEST(MemoryTest, WhatTheQueueTakesIsResident) {
  const std::vector<Op> ops{schedule_op(0, 9)};
  const MemoryUse use = replay_memory<Large>({.capacity = 1}, {}, std::span(ops), kNoStop);
  for (const std::uint64_t resident : {use.resident, use.resident_drained}) {
    EXPECT_GT(resident, 40'000'000U);
    EXPECT_LT(resident, 90'000'000U);  // a sanitizer needs some for itself
  }
}

TEST(MemoryTest, HugePagesAreThoseOfTheWholeProcess) {
  constexpr std::size_t kBytes = 16 << 20;
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kBytes, MADV_HUGEPAGE);
  std::fill_n(static_cast<char*>(memory), kBytes, 'x');
  const std::uint64_t before = huge_page_bytes();
  const std::vector<Op> ops{schedule_op(0, 9)};
  const MemoryUse use = replay_memory<Model>({.capacity = 1}, {}, std::span(ops), kNoStop);
  const std::uint64_t after = huge_page_bytes();
  munmap(memory, kBytes);
  if (before == 0) GTEST_SKIP() << "the kernel gives no huge pages here";
  EXPECT_GE(use.huge, std::min(before, after));
  EXPECT_LE(use.huge, std::max(before, after));
}

TEST(MemoryTest, ResidentMemoryIsThatOfTheKernel) {
  const std::uint64_t before = resident_bytes();
  const std::vector<char> large(50'000'000, 'x');
  EXPECT_GT(resident_bytes() - before, 49'000'000U);
  EXPECT_LT(resident_bytes() - before, 80'000'000U);  // a sanitizer needs some for itself
}

}  // namespace
}  // namespace timerbench
