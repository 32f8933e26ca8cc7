// The outcome of a replay, which shows whether two backends did the same.
#pragma once

#include <cstdint>

#include "core/timer_queue.h"

namespace timerbench {

// The digest is a sum over all fires, so timers that fire in the same advance() may fire in any
// order. Each fire is hashed first, so that another set of fires has the same sum only by chance.
struct Outcome {
  std::uint64_t fired = 0;
  std::uint64_t cancelled = 0;  // cancels that prevented a fire
  std::uint64_t digest = 0;     // of (now, id, deadline) of every fire
  std::uint64_t pending = 0;    // timers at the end

  Outcome& operator+=(const Outcome& other) {
    fired += other.fired;
    cancelled += other.cancelled;
    digest += other.digest;
    pending = other.pending;
    return *this;
  }
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// A sink that adds the fires of one advance() to an outcome. Costs two multiplications per fire.
class DigestFires {
 public:
  DigestFires(Outcome& outcome, Tick now) : outcome_(outcome), instant_(now * 0x9e3779b97f4a7c15) {}

  void operator()(TimerId id, Tick deadline) const {
    std::uint64_t fire = (deadline ^ instant_) * 0xd1b54a32d192ed03 + id;
    fire = (fire ^ fire >> 32) * 0xaef17502108ef2d9;
    outcome_.digest += fire ^ fire >> 32;
  }

 private:
  Outcome& outcome_;
  std::uint64_t instant_;
};

}  // namespace timerbench
