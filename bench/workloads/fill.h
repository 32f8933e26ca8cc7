// Arming alone: N timers. Load W1 of the published figures of timer libraries.
//
// The queue has held as many timers before, all cancelled, so that the figure does not contain the
// first touch of its memory.
#pragma once

#include "workloads/random.h"
#include "workloads/trace_writer.h"

namespace timerbench {

struct Fill {
  static constexpr std::string_view name = "fill";
  static constexpr std::string_view summary = "N timers armed with uniform delays";
  static constexpr std::string_view item = "insert";
  static constexpr bool items_are_free = false;

  Delays delay{"uniform 1ms 60s"};

  Parameters parameters() { return {{"delay", &delay, "how far ahead timers are armed"}}; }

  Trace generate(const WorkloadOptions& options) const {
    TraceWriter trace(*this, options);
    Random random(options.seed);
    DelaySampler sample = trace.sampler(delay);
    const auto arm_all = [&] {
      for (TimerId id = 0; id < options.size; ++id) trace.schedule(id, sample(random));
    };
    arm_all();
    for (TimerId id = 0; id < options.size; ++id) trace.cancel(id);
    trace.end_setup();
    arm_all();
    return trace.finish(options.size, options.size);
  }
};
static_assert(Generator<Fill>);

}  // namespace timerbench
