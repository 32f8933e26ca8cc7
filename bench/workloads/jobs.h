// Scheduled jobs: N of them, up to 90 days ahead, nearly all of which run (Sidekiq: 4 to 8 million
// spread over as many seconds, sidekiq#3411; Airbnb's Dynein schedules months and years ahead). One
// in fifty is cancelled. Each job that has run or was cancelled is followed by another. Ticks are 1
// s, and the clock goes from one due instant to the next.
#pragma once

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

struct Jobs {
  static constexpr std::string_view name = "jobs";
  static constexpr std::string_view summary =
      "N jobs up to 90 days ahead, 2 % cancelled, the rest run";
  static constexpr std::string_view item = "job";
  static constexpr bool items_are_free = true;
  static constexpr double unit_ns = 1e9;

  Delays delay{"uniform 1s 90d"};
  double cancelled = 0.02;

  Parameters parameters() {
    return {{"delay", &delay, "how far ahead a job is scheduled"},
            {"cancelled", &cancelled, "so many are cancelled for each that runs"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    const TimerId size = options.size;
    const std::uint64_t jobs = options.items != 0 ? options.items : 1'000'000;
    TraceWriter trace(*this, options);
    DelaySampler sample = trace.sampler(delay);
    Random random(options.seed);
    Simulation world(trace, size);
    // Jobs were scheduled evenly over the past, so each has a uniform part of its delay left.
    for (TimerId job = 0; job < size; ++job) world.arm(job, random.between(1, sample(random)));
    trace.end_setup();
    std::uint64_t ended = 0;
    while (ended < jobs) {
      world.step_to(world.next_due(), [&](TimerId job) {
        world.arm(job, sample(random));
        ++ended;
        if (!random.chance(cancelled)) return;
        const TimerId other = random.below(size);
        world.cancel(other);
        world.arm(other, sample(random));
        ++ended;
      });
    }
    return trace.finish(ended, size);
  }
};
static_assert(Generator<Jobs>);

}  // namespace timerbench
