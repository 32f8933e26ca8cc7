// What the machine can do is told for each working set.
#include "system/limits.h"

#include <gtest/gtest.h>

namespace timerbench {
namespace {

TEST(LimitsTest, AreToldForEachWorkingSet) {
  const Limits limits = measure_limits({32 << 10, 64 << 20});
  ASSERT_EQ(limits.memory.size(), 2U);
  EXPECT_EQ(limits.memory[1].bytes, 64U << 20);
  for (const MemoryLimit& memory : limits.memory) {
    EXPECT_GT(memory.random_access, 0);
    EXPECT_GT(memory.list_walk, 0);
  }
  EXPECT_GT(limits.memory[1].list_walk, limits.memory[0].list_walk);  // a hundredfold
  EXPECT_GT(limits.append, 0);
  EXPECT_GT(limits.clock, 1);
  EXPECT_GT(limits.sleep_late, 0);
}

}  // namespace
}  // namespace timerbench
