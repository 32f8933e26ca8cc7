// Cancelling alone: N pending timers, all cancelled in random order. Load W2 of the published
// figures of timer libraries.
#pragma once

#include "workloads/random.h"
#include "workloads/trace_writer.h"

namespace timerbench {

struct Cancel {
  static constexpr std::string_view name = "cancel";
  static constexpr std::string_view summary = "N pending timers cancelled in random order";
  static constexpr std::string_view item = "cancel";
  static constexpr bool items_are_free = false;

  Delays delay{"uniform 1ms 60s"};

  Parameters parameters() { return {{"delay", &delay, "how far ahead timers are armed"}}; }

  Trace generate(const WorkloadOptions& options) const {
    TraceWriter trace(*this, options);
    Random random(options.seed);
    DelaySampler sample = trace.sampler(delay);
    for (TimerId id = 0; id < options.size; ++id) trace.schedule(id, sample(random));
    trace.end_setup();
    for (const TimerId id : random.permutation(options.size)) trace.cancel(id);
    return trace.finish(options.size, options.size);
  }
};
static_assert(Generator<Cancel>);

}  // namespace timerbench
