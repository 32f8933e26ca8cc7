// What the machine can do is told for each working set.
#include "system/limits.h"

#include <gtest/gtest.h>

namespace timerbench {
namespace {

TEST(LimitsTest, AreToldForEachWorkingSet) {
  const Limits limits = measure_limits({32 << 10, 64 << 20});
  ASSERT_EQ(limits.memory.size(), 2U);
  EXPECT_EQ(limits.memory[1].bytes, 64U << 20);
  for (const MemoryLimit& memory : limits.memory) {  // in ns: no machine is beyond these
    EXPECT_GT(memory.random_access, 0.2);
    EXPECT_LT(memory.random_access, 1000);
    EXPECT_GT(memory.list_walk, 0.2);
    EXPECT_LT(memory.list_walk, 5000);
  }
  EXPECT_GT(limits.memory[1].list_walk, 3 * limits.memory[0].list_walk);  // about fiftyfold
  EXPECT_GT(limits.append, 0);
  EXPECT_LT(limits.append, 100);
  EXPECT_GT(limits.clock, 1);
  EXPECT_LT(limits.clock, 2000);
  EXPECT_GT(limits.sleep_late, 1000);
  EXPECT_LT(limits.sleep_late, 1e9);
}

}  // namespace
}  // namespace timerbench
