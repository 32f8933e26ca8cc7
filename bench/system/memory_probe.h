// What a read of main memory takes just now. A neighbour who fills the caches and the memory's bus
// makes a measurement slower without ever taking its processor away, so that DisturbanceMeter does
// not see him; this does.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "system/mapped_file.h"

namespace timerbench {

// Reads at random places in this program's own file, tens of megabytes that the system keeps in
// memory anyway: nothing is allocated, and it is the same memory in every process.
class MemoryProbe {
 public:
  using Clock = std::chrono::steady_clock;

  // Nanoseconds a read; nothing where the file cannot be mapped. Each read waits for the one before.
  // The median of some hundreds of reads at once, so that a moment without the processor does not
  // count. Takes 1 to 2 ms, and half a megabyte of the caches: never between what warms up and what
  // is measured. A figure that is younger than kFresh is returned again.
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
