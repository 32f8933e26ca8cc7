// Arming alone: N timers, uniform delays. W1 of the peers' figures.
#pragma once

#include "workloads/random.h"
#include "workloads/trace_writer.h"

namespace timerbench {

struct Fill {
  static constexpr std::string_view name = "fill";
  static constexpr std::string_view summary = "N timers armed with uniform delays";
  static constexpr std::string_view item = "insert";

  std::uint32_t max_delay = 60'000;  // ticks; delays are uniform over 1 .. max_delay

  Trace generate(const WorkloadOptions& options) const {
    TraceWriter trace(*this, options, options.size);
    trace.note("max_delay", max_delay);
    arm_all(trace, options);
    return trace.finish(options.size, options.size);
  }

  // The N armings; they are also the setup of `cancel` and `drain`.
  void arm_all(TraceWriter& trace, const WorkloadOptions& options) const {
    Random random(options.seed);
    for (TimerId id = 0; id < options.size; ++id) trace.schedule(id, random.between(1, max_delay));
  }
};
static_assert(Generator<Fill>);

}  // namespace timerbench
