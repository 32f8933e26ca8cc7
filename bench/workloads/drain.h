// Expiring alone: N pending timers, time advanced tick by tick to the last. Load W3 of the
// published figures of timer libraries.
#pragma once

#include <algorithm>

#include "workloads/random.h"
#include "workloads/trace_writer.h"

namespace timerbench {

struct Drain {
  static constexpr std::string_view name = "drain";
  static constexpr std::string_view summary = "N pending timers expired tick by tick";
  static constexpr std::string_view item = "fire";
  static constexpr bool items_are_free = false;

  Delays delay{"uniform 1ms 60s"};  // with few timers most of the 60 000 ticks find nothing

  Parameters parameters() { return {{"delay", &delay, "how far ahead timers are armed"}}; }

  Trace generate(const WorkloadOptions& options) const {
    TraceWriter trace(*this, options);
    Random random(options.seed);
    DelaySampler sample = trace.sampler(delay);
    std::uint32_t longest = 0;
    for (TimerId id = 0; id < options.size; ++id) {
      const std::uint32_t ticks = sample(random);
      longest = std::max(longest, ticks);
      trace.schedule(id, ticks);
    }
    trace.end_setup();
    for (std::uint32_t tick = 0; tick < longest; ++tick) trace.pass_time(1);
    return trace.finish(options.size, options.size);
  }
};
static_assert(Generator<Drain>);

}  // namespace timerbench
