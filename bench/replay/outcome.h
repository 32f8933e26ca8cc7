// What a replay did: enough to tell whether two backends did the same.
#pragma once

#include <cstdint>

#include "core/timer_queue.h"

namespace timerbench {

// The digest is a sum over all fires, so that timers that fire in the same advance() may do so in any
// order, and costs a multiplication and two additions a fire.
struct Outcome {
  std::uint64_t fired = 0;
  std::uint64_t cancelled = 0;  // cancels that prevented a fire
  std::uint64_t digest = 0;     // of (now, id, deadline) of every fire

  Outcome& operator+=(const Outcome& other) {
    fired += other.fired;
    cancelled += other.cancelled;
    digest += other.digest;
    return *this;
  }
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Adds the fires of one advance() to an outcome; a sink.
class DigestFires {
 public:
  DigestFires(Outcome& outcome, Tick now)
      : outcome_(outcome), instant_(now * 0x9e3779b97f4a7c15 | 1) {}

  void operator()(TimerId id, Tick deadline) const {
    outcome_.digest += (deadline + id * std::uint64_t{0xd1b54a32d192ed03}) * instant_;
  }

 private:
  Outcome& outcome_;
  std::uint64_t instant_;
};

}  // namespace timerbench
