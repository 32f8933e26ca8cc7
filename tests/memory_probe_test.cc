// What a read of main memory takes just now.
#include "system/memory_probe.h"

#include <gtest/gtest.h>

namespace timerbench {
namespace {

TEST(MemoryProbeTest, IsTheTimeOfARead) {
  MemoryProbe probe;
  const auto ns = probe.read_ns();
  ASSERT_TRUE(ns);  // no machine is beyond these
  EXPECT_GT(*ns, 0.5);
  EXPECT_LT(*ns, 10'000);
}

TEST(MemoryProbeTest, LooksAgainOnlyWhenItsFigureIsOld) {
  MemoryProbe probe;
  const auto begin = MemoryProbe::Clock::now();
  const auto first = probe.read_ns(begin);
  EXPECT_EQ(probe.read_ns(begin + MemoryProbe::kFresh / 2), first);
  EXPECT_NE(probe.read_ns(begin + MemoryProbe::kFresh), first);
}

}  // namespace
}  // namespace timerbench
