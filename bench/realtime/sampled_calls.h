// Measures how long calls take by timing a sample, since a clock read costs as much as a call.
#pragma once

#include <chrono>
#include <cstdint>

#include "replay/durations.h"
#include "workloads/random.h"

namespace timerbench {

// Times one call in `mean_gap`. The gaps are random: a fixed gap could match the period of the
// calls, such as a batch of 32, and would time the same position again and again.
class SampledCalls {
 public:
  SampledCalls(std::uint32_t mean_gap, std::uint64_t seed) : mean_gap_(mean_gap), random_(seed) {}

  // Returns the call's result.
  template <class Call>
  auto operator()(Call&& call) {
    if (--until_sample_ > 0) return call();
    until_sample_ = random_.between(1, 2 * mean_gap_ - 1);
    const Timing timing(durations_);
    return call();
  }

  const Durations& durations() const { return durations_; }

 private:
  // Adds the time from its construction to its destruction.
  class Timing {
   public:
    explicit Timing(Durations& durations) : durations_(durations) {}
    ~Timing() {
      durations_.add(std::chrono::duration<double, std::nano>(Clock::now() - begin_).count());
    }
    Timing(const Timing&) = delete;
    Timing& operator=(const Timing&) = delete;

   private:
    using Clock = std::chrono::steady_clock;
    Durations& durations_;
    const Clock::time_point begin_ = Clock::now();
  };

  const std::uint32_t mean_gap_;
  std::uint32_t until_sample_ = 1;  // the first call is timed
  Random random_;
  Durations durations_;
};

}  // namespace timerbench
