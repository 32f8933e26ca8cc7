// Rounding of instants to granules, without division for the usual granularity of 1.
#pragma once

#include <stdexcept>

#include "core/timer_queue.h"

namespace timerbench {

// Granule n is the instant n * ticks.
class Granularity {
 public:
  // Throws std::invalid_argument if it is 0.
  explicit Granularity(Tick ticks) : ticks_(ticks), is_one_(ticks == 1) {
    if (ticks == 0) throw std::invalid_argument("the granularity is 0; it must be at least 1 tick");
  }

  // The last granule not after t. kNever - 1 counts as the end of its granule, whatever the
  // granularity.
  Tick floor(Tick t) const {
    return is_one_ ? t : t / ticks_ + (t == kNever - 1 && t % ticks_ != 0);
  }

  // The first granule not before t.
  Tick ceil(Tick t) const { return is_one_ ? t : t / ticks_ + (t % ticks_ != 0); }

  // When granule n begins. The first granule that would begin after kNever - 1 begins there, and
  // all further ones never begin.
  Tick instant(Tick n) const {
    if (is_one_) return n;
    if (n <= (kNever - 1) / ticks_) return n * ticks_;
    return n == ceil(kNever - 1) ? kNever - 1 : kNever;
  }

 private:
  Tick ticks_;
  // A member of its own, because GCC knows that t / 1 is t and turns `ticks_ == 1 ? t : t / ticks_`
  // into a division.
  bool is_one_;
};

}  // namespace timerbench
