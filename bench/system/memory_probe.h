// Measures how long a read of main memory takes now. A neighbour that fills the caches and the
// memory bus slows a measurement down without taking its processor, so DisturbanceMeter does not
// notice it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "system/mapped_file.h"

namespace timerbench {

// Reads random places of this program's own file. The system keeps those tens of megabytes in
// memory anyway, so nothing is allocated, and every process reads the same memory.
class MemoryProbe {
 public:
  using Clock = std::chrono::steady_clock;

  // Nanoseconds per read; nothing if the file cannot be mapped. Each read waits for the one before.
  // The figure is the median over batches of some hundred reads, so that losing the processor for a
  // moment does not matter. Takes 1 to 2 ms and uses half a megabyte of the caches, so never call
  // it between a warm-up and its measurement. Returns the last figure again if it is younger than
  // kFresh.
  std::optional<double> read_ns(Clock::time_point now = Clock::now());

  static constexpr std::chrono::milliseconds kFresh{100};

 private:
  double time_reads();

  MappedFile file_;
  std::uint64_t place_ = 1;  // the state of the random numbers
  std::optional<double> latest_;
  Clock::time_point measured_at_{};
};

}  // namespace timerbench
