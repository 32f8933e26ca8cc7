// A thundering herd: N timers are armed in random order for the same instant, and nothing follows
// it.
//
// The load is made to be paced: it shows how long after the instant the first and the last timer
// fire.
#pragma once

#include "workloads/random.h"
#include "workloads/trace_writer.h"

namespace timerbench {

struct Herd {
  static constexpr std::string_view name = "herd";
  static constexpr std::string_view summary = "N timers that are due at one instant";
  static constexpr std::string_view item = "fire";
  static constexpr bool items_are_free = false;
  static constexpr double unit_ns = 1'000;

  std::chrono::nanoseconds delay = std::chrono::milliseconds(500);
  std::chrono::nanoseconds quiet = std::chrono::milliseconds(500);

  Parameters parameters() {
    return {{"delay", &delay, "of all"}, {"quiet", &quiet, "how long the trace goes on after it"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    TraceWriter trace(*this, options);
    Random random(options.seed);
    for (const TimerId id : random.permutation(options.size))
      trace.schedule(id, trace.ticks(delay));
    trace.end_setup();
    trace.pass_time(trace.ticks(delay));
    trace.pass_time(trace.ticks(quiet));
    return trace.finish(options.size, options.size);
  }
};
static_assert(Generator<Herd>);

}  // namespace timerbench
