// Arming alone: N timers, uniform delays. W1 of the peers' figures.
//
// The queue has held as many before, all cancelled: what is measured is not the first touch of its
// memory.
#pragma once

#include "workloads/random.h"
#include "workloads/trace_writer.h"

namespace timerbench {

struct Fill {
  static constexpr std::string_view name = "fill";
  static constexpr std::string_view summary = "N timers armed with uniform delays";
  static constexpr std::string_view item = "insert";
  static constexpr bool items_are_free = false;

  std::uint32_t max_delay = 60'000;  // ticks; delays are uniform over 1 .. max_delay

  Trace generate(const WorkloadOptions& options) const {
    TraceWriter trace(*this, options, 3 * std::size_t{options.size});
    trace.note("max_delay", max_delay);
    Random random(options.seed);
    arm_all(trace, random, options.size);
    for (TimerId id = 0; id < options.size; ++id) trace.cancel(id);
    trace.end_setup();
    arm_all(trace, random, options.size);
    return trace.finish(options.size, options.size);
  }

  // The N armings; they are also the setup of `cancel` and `drain`.
  void arm_all(TraceWriter& trace, Random& random, TimerId size) const {
    for (TimerId id = 0; id < size; ++id) trace.schedule(id, random.between(1, max_delay));
  }
};
static_assert(Generator<Fill>);

}  // namespace timerbench
