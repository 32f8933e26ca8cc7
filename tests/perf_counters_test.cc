// Counters of the processor, or, since many a machine has none for us, of the kernel: groups of both
// work alike.
#include "system/perf_counters.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace timerbench {
namespace {

constexpr CountedEvent kFaults{"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS};
constexpr CountedEvent kTime{"time", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK};
constexpr CountedEvent kNonsense{"nonsense", PERF_TYPE_SOFTWARE, 9999};

// Each page is touched for the first time.
void fault(std::size_t pages) {
  const std::size_t size = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, size, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < size; i += size / pages) static_cast<volatile char*>(memory)[i] = 1;
  munmap(memory, size);
}

TEST(PerfCounters, CountWhatHappensBetweenStartAndStop) {
  PerfCounters counters(std::array{kFaults, kTime});
  if (counters.error() != 0) {
    EXPECT_TRUE(counters.error() == EACCES || counters.error() == EPERM ||
                counters.error() == ENOSYS)
        << counters.error();
    return;
  }
  fault(50);
  counters.start();
  fault(300);
  counters.stop();
  fault(50);
  const auto counts = counters.counts();
  ASSERT_TRUE(counts);
  ASSERT_EQ(counts->size(), 2U);
  EXPECT_EQ((*counts)[0].name, "faults");
  EXPECT_GE((*counts)[0].count, 300U);
  EXPECT_LT((*counts)[0].count, 350U);
  EXPECT_EQ((*counts)[1].name, "time");
  EXPECT_GT((*counts)[1].count, 0U);

  counters.start();
  counters.stop();
  EXPECT_LT(counters.counts()->front().count, 50U) << "it begins again";
}

TEST(PerfCounters, WhatTheMachineDoesNotHaveIsLeftOut) {
  PerfCounters counters(std::array{kFaults, kNonsense, kTime});
  if (counters.error() != 0) return;
  counters.start();
  counters.stop();
  ASSERT_TRUE(counters.counts());
  EXPECT_EQ(counters.counts()->size(), 2U);
  EXPECT_EQ(counters.counts()->back().name, "time");
}

TEST(PerfCounters, WithoutTheFirstThereAreNone) {
  EXPECT_NE(PerfCounters(std::array{kNonsense, kFaults}).error(), 0);
}

TEST(PerfCounters, WhatWasNeverStartedHasNoCounts) {
  const PerfCounters counters(std::array{kFaults});
  EXPECT_TRUE(counters.error() != 0 || !counters.counts());
}

}  // namespace
}  // namespace timerbench
