// The memory pass, in a program that counts its allocations.
#include "replay/memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "queues/kafka_wheel.h"
#include "queues/ordered_map.h"
#include "system/allocations.h"
#include "trace/model.h"
#include "workloads/workload.h"

namespace timerbench {
namespace {

const StopFlag kNoStop{false};

Trace fill(TimerId size) {
  for (const Workload& workload : workloads()) {
    if (workload.name == "fill") return workload.generate({.size = size});
  }
  return Trace({}, {});
}

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

TEST(MemoryTest, ResidentMemoryIsThatOfTheKernel) {
  const std::uint64_t before = resident_bytes();
  const std::vector<char> large(50'000'000, 'x');
  EXPECT_GT(resident_bytes() - before, 49'000'000U);
  EXPECT_LT(resident_bytes() - before, 80'000'000U);  // a sanitizer needs some for itself
}

}  // namespace
}  // namespace timerbench
