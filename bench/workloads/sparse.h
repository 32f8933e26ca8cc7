// Sparse idle: N timers an hour and more ahead, and a clock that advances though nothing is due,
// like that of an event loop that its sockets wake up. It shows what a look at the timers costs
// when there is nothing to do: polls that walk the population took 2.4 ms at 50 000 timers
// (nexus#674).
#pragma once

#include "workloads/random.h"
#include "workloads/trace_writer.h"

namespace timerbench {

struct Sparse {
  static constexpr std::string_view name = "sparse";
  static constexpr std::string_view summary =
      "N timers 1 - 2 h ahead, and ticks at which none is due";
  static constexpr std::string_view item = "tick";
  static constexpr bool items_are_free = true;

  Delays delay{"uniform 1h 2h"};

  Parameters parameters() { return {{"delay", &delay, "how far ahead the timers are"}}; }

  Trace generate(const WorkloadOptions& options) const {
    const std::uint64_t ticks = options.items != 0 ? options.items : 1'000'000;
    TraceWriter trace(*this, options);
    DelaySampler sample = trace.sampler(delay);
    Random random(options.seed);
    for (TimerId id = 0; id < options.size; ++id) trace.schedule(id, sample(random));
    trace.end_setup();
    for (std::uint64_t tick = 0; tick < ticks; ++tick) trace.pass_time(1);
    return trace.finish(ticks, options.size);
  }
};
static_assert(Generator<Sparse>);

}  // namespace timerbench
