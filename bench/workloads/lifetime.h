// Deadlines of a life: tokens, sessions, certificates, contracts and jobs beside each other, a
// second to 24 years ahead. It is the load of which Kafka's wheel is said to queue few buckets:
// five levels of 60 slots, as of seconds, minutes and hours, span 60^5 s, which is 24.6 years.
//
// Timers are held: each fires and is armed again. Delays are customary in kind, their distribution
// is not published. Ticks are 1 s.
#pragma once

#include "workloads/hold.h"

namespace timerbench {

struct Lifetime {
  static constexpr std::string_view name = "lifetime";
  static constexpr std::string_view summary =
      "N pending timers, each fire re-arms, 1 s - 24 years, log-uniform";
  static constexpr std::string_view item = "fire + insert";
  static constexpr bool items_are_free = true;
  static constexpr double unit_ns = 1e9;

  Delays delay{"loguniform 1s 8766d"};

  Parameters parameters() { return {{"delay", &delay, "how far ahead timers are armed"}}; }

  Trace generate(const WorkloadOptions& options) const {
    return hold_timers(TraceWriter(*this, options), delay, options);
  }
};
static_assert(Generator<Lifetime>);

}  // namespace timerbench
