// Cancelling alone: N pending timers, all cancelled in random order. W2 of the peers' figures.
#pragma once

#include "workloads/fill.h"

namespace timerbench {

struct Cancel {
  static constexpr std::string_view name = "cancel";
  static constexpr std::string_view summary = "N pending timers cancelled in random order";
  static constexpr std::string_view item = "cancel";
  static constexpr bool items_are_free = false;

  Fill fill;  // how they were armed

  Trace generate(const WorkloadOptions& options) const {
    TraceWriter trace(*this, options, 2 * std::uint64_t{options.size});
    trace.note("max_delay", fill.max_delay);
    Random random(options.seed);
    fill.arm_all(trace, random, options.size);
    trace.end_setup();

    for (const TimerId id : random.permutation(options.size)) trace.cancel(id);
    return trace.finish(options.size, options.size);
  }
};
static_assert(Generator<Cancel>);

}  // namespace timerbench
