// The hold model of event simulation (Jones 1986): every timer fires, and is armed again when it
// does. Load W5 of the published figures of timer libraries.
#pragma once

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

// Holds `options.size` timers. The clock goes from one due instant to the next, like that of a
// driver that sleeps until then.
inline Trace hold_timers(TraceWriter trace, const Delays& delay, const WorkloadOptions& options) {
  const TimerId size = options.size;
  const std::uint64_t fires = options.items != 0 ? options.items
                              : size < 1'000'000 ? 1'000'000
                                                 : 2'000'000;
  Random random(options.seed);
  DelaySampler sample = trace.sampler(delay);
  Simulation world(trace, size);
  const auto arm = [&](TimerId id) { world.arm(id, sample(random)); };
  for (TimerId id = 0; id < size; ++id) arm(id);
  trace.end_setup();

  std::uint64_t fired = 0;
  while (fired < fires && size > 0) {
    world.step_to(world.next_due(), [&](TimerId id) {
      arm(id);
      ++fired;
    });
  }
  return trace.finish(fired, size);
}

struct Hold {
  static constexpr std::string_view name = "hold";
  static constexpr std::string_view summary =
      "N pending timers, each fire re-arms, exponential delay";
  static constexpr std::string_view item = "fire + insert";
  static constexpr bool items_are_free = true;

  Delays delay{"exponential 10s"};
  std::chrono::nanoseconds resolution = kDefaultResolution;

  Parameters parameters() {
    return {{"delay", &delay, "how far ahead timers are armed"},
            {"resolution", &resolution, kMeaningOfResolution}};
  }

  Trace generate(const WorkloadOptions& options) const {
    return hold_timers(TraceWriter(*this, options), delay, options);
  }
};
static_assert(Generator<Hold>);

}  // namespace timerbench
