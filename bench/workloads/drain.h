// Expiring alone: N pending timers, time advanced tick by tick to the last. W3 of the peers'
// figures.
#pragma once

#include "workloads/fill.h"

namespace timerbench {

struct Drain {
  static constexpr std::string_view name = "drain";
  static constexpr std::string_view summary = "N pending timers expired tick by tick";
  static constexpr std::string_view item = "fire";
  static constexpr bool items_are_free = false;

  Fill fill;  // how they were armed; with few timers most of the 60 000 ticks find nothing

  Trace generate(const WorkloadOptions& options) const {
    TraceWriter trace(*this, options, options.size + std::uint64_t{fill.max_delay});
    trace.note("max_delay", fill.max_delay);
    Random random(options.seed);
    fill.arm_all(trace, random, options.size);
    trace.end_setup();
    for (std::uint32_t tick = 0; tick < fill.max_delay; ++tick) trace.pass_time(1);
    return trace.finish(options.size, options.size);
  }
};
static_assert(Generator<Drain>);

}  // namespace timerbench
