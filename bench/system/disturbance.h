// What came between a measurement and its processor.
#pragma once

#include <chrono>
#include <cstdint>

namespace timerbench {

struct Disturbance {
  std::uint64_t switches = 0;    // involuntary: another thread had the processor meanwhile
  std::uint64_t migrations = 0;  // of which it ended on another processor
  std::uint64_t faults = 0;      // major: a page was read from a disk
  // For which the thread was not on a processor: others were, or it slept.
  std::chrono::nanoseconds away{};

  Disturbance& operator+=(const Disturbance& other) {
    switches += other.switches;
    migrations += other.migrations;
    faults += other.faults;
    away += other.away;
    return *this;
  }

  // Whether the figure of what took so long is not its own: it changed processors, waited for a disk,
  // or lost its processor for more than kMostAway of its time. Who is away without a switch has slept.
  bool spoils(std::chrono::duration<double> elapsed) const {
    return migrations > 0 || faults > 0 || (switches > 0 && away > kMostAway * elapsed);
  }

  static constexpr double kMostAway = 0.005;
};

// Counts those of the calling thread from its construction on. Three system calls, at the beginning
// and at the end.
class DisturbanceMeter {
 public:
  DisturbanceMeter();
  Disturbance stop() const;

 private:
  Disturbance before_;
  int processor_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::nanoseconds worked_before_;
};

}  // namespace timerbench
