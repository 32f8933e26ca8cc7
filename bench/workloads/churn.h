// Steady cancelling and re-arming: the life of request time-outs. W4 of the peers' figures.
//
// N timers are pending. A random one is cancelled and armed again, far enough ahead that most never
// fire; time passes. Those that do fire are armed again at once, and their cost is in the figure.
// Deviation: W4 begins with fresh timers, this with the ages that a long churn leads to, so that a
// figure does not depend on how many pairs are measured. At 10^3 and 10^5 that makes no difference;
// at 10^6 W4 has 0.19 fires a pair and at 10^7 none, this has 0.31.
#pragma once

#include <algorithm>

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

struct Churn {
  static constexpr std::string_view name = "churn";
  static constexpr std::string_view summary =
      "N pending timers, a random one cancelled and armed again, time passing";
  static constexpr std::string_view item = "cancel + insert";
  static constexpr bool items_are_free = true;

  Delays delay{"uniform 30s 60s"};
  // A tick passes every max(1, N / pace) pairs, whole ones: where N is a multiple, a timer is chosen
  // once in `pace` ticks, and 0.30 fire for each pair; at 10^5, every 3 pairs, it is 0.37.
  std::uint32_t pace = 30'000;

  Parameters parameters() {
    return {{"delay", &delay, "how far ahead timers are armed"},
            {"pace", &pace, "a tick passes every N / pace pairs"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    const TimerId size = options.size;
    const std::uint64_t pairs = options.items != 0 ? options.items
                                : size < 1'000'000 ? 5'000'000
                                                   : 2'000'000;
    const std::uint64_t pairs_a_tick = std::max(1U, size / pace);
    TraceWriter trace(*this, options);
    trace.note("pairs_a_tick", pairs_a_tick);

    Random random(options.seed);
    DelaySampler sample = trace.sampler(delay);
    Simulation world(trace, size);
    const auto arm = [&](TimerId id) { world.arm(id, sample(random)); };

    // As old as after a long churn, so that fires come from the beginning, at the rate at which
    // they go on: a timer is chosen at a constant rate, and those that would have fired are not
    // there.
    const std::uint64_t mean_age = size / pairs_a_tick;
    for (TimerId id = 0; id < size; ++id) {
      std::uint32_t ticks = 0;
      std::uint64_t age = 0;
      do {
        ticks = sample(random);
        age = random.exponential(mean_age) >> 32;
      } while (age >= ticks);
      world.arm(id, ticks - static_cast<std::uint32_t>(age));
    }
    trace.end_setup();

    for (std::uint64_t pair = 1; pair <= pairs; ++pair) {
      const TimerId id = random.below(size);
      world.cancel(id);
      arm(id);
      if (pair % pairs_a_tick == 0) world.step_to(world.now() + 1, arm);
    }
    return trace.finish(pairs, size);
  }
};
static_assert(Generator<Churn>);

}  // namespace timerbench
