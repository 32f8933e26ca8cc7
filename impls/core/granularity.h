// Rounding of instants to granules, free of division for the usual granularity of 1.
#pragma once

#include <algorithm>

#include "core/timer_queue.h"

namespace timerbench {

// Granule n is the instant n * ticks.
class Granularity {
 public:
  explicit Granularity(Tick ticks) : ticks_(ticks) {}

  // The last granule not after t.
  Tick floor(Tick t) const { return ticks_ == 1 ? t : t / ticks_; }

  // The first granule not before t.
  Tick ceil(Tick t) const { return ticks_ == 1 ? t : t / ticks_ + (t % ticks_ != 0); }

  // When granule n begins. The granule that follows the end of time begins at its last instant.
  Tick instant(Tick n) const {
    if (ticks_ == 1) return n;
    return n <= (kNever - 1) / ticks_ ? n * ticks_ : kNever - 1;
  }

 private:
  Tick ticks_;
};

}  // namespace timerbench
