// Disturbances of a measurement: events that took its processor away or made it wait.
#pragma once

#include <chrono>
#include <cstdint>

namespace timerbench {

struct Disturbance {
  std::uint64_t switches = 0;    // involuntary: another thread had the processor meanwhile
  std::uint64_t migrations = 0;  // the thread ended on another processor
  std::uint64_t faults = 0;      // major: a page was read from a disk
  // Time during which the thread was not on a processor: others ran, or it slept.
  std::chrono::nanoseconds away{};

  Disturbance& operator+=(const Disturbance& other) {
    switches += other.switches;
    migrations += other.migrations;
    faults += other.faults;
    away += other.away;
    return *this;
  }

  // Whether the disturbance spoils a measurement of this length: the thread changed processors,
  // waited for a disk, or lost its processor for more than kMostAway of the time. Time away without
  // a switch was sleep.
  bool spoils(std::chrono::duration<double> elapsed) const {
    return migrations > 0 || faults > 0 || (switches > 0 && away > kMostAway * elapsed);
  }

  static constexpr double kMostAway = 0.005;
};

// Counts the disturbances of the calling thread since construction. Costs three system calls at the
// start and at the end.
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
