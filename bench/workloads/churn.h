// Steady cancelling and re-arming, as of request time-outs. Load W4 of the published figures of
// timer libraries.
//
// N timers are pending. A random one is cancelled and armed again, so far ahead that most timers
// never fire, and time passes. Timers that fire are armed again at once; their cost is part of the
// figure. Deviation: W4 begins with fresh timers, this load with the ages that a long churn leads
// to, so that a figure does not depend on how many pairs are measured. At 10^3 and 10^5 that makes
// no difference. At 10^6 W4 has 0.19 fires a pair and at 10^7 none; this load has 0.31 at both.
#pragma once

#include <fmt/format.h>

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
  // A millisecond passes every max(1, N / pace) pairs, rounded down. Where N is a multiple of
  // `pace`, a timer is chosen once in `pace` ms and 0.30 timers fire for each pair; at N = 10^5 a
  // millisecond passes every 3 pairs and 0.37 fire.
  std::uint32_t pace = 30'000;
  std::chrono::nanoseconds resolution = kDefaultResolution;

  Parameters parameters() {
    return {{"delay", &delay, "how far ahead timers are armed"},
            {"pace", &pace, "a millisecond passes every N / pace pairs"},
            {"resolution", &resolution, kMeaningOfResolution}};
  }

  static constexpr std::uint64_t kMostFiresAPair = 100;

  // Throws ParameterError if more timers than that would fire.
  Trace generate(const WorkloadOptions& options) const {
    const TimerId size = options.size;
    const std::uint64_t pairs = options.items != 0 ? options.items
                                : size < 1'000'000 ? 5'000'000
                                                   : 2'000'000;
    const std::uint64_t pairs_a_ms = std::max(1U, size / pace);
    TraceWriter trace(*this, options);
    trace.note("pairs_a_ms", pairs_a_ms);
    const auto tick_ns = static_cast<std::uint64_t>(resolution.count());

    Random random(options.seed);
    DelaySampler sample = trace.sampler(delay);
    Simulation world(trace, size);
    const auto arm = [&](TimerId id) { world.arm(id, sample(random)); };

    // Timers are as old as after a long churn, so that they fire at a steady rate from the
    // beginning: a timer is chosen at a constant rate, and those that would have fired are left
    // out.
    const std::uint64_t mean_age_ms = size / pairs_a_ms;
    std::uint64_t draws = 0;
    for (TimerId id = 0; id < size; ++id) {
      std::uint32_t ticks = 0;
      std::uint64_t age = 0;
      do {
        // A timer that is left out would be a fire.
        if (++draws > 1000 + kMostFiresAPair * (id + 1)) {
          throw ParameterError(fmt::format(
              "delay: '{}' is too short; more than {} timers would fire for each pair, "
              "since a timer is chosen once in {} ms. Choose longer delays or a smaller "
              "pace",
              delay.text(), kMostFiresAPair, mean_age_ms));
        }
        ticks = sample(random);
        age = random.exponential_ns(mean_age_ms) / tick_ns;
      } while (age >= ticks);
      world.arm(id, ticks - static_cast<std::uint32_t>(age));
    }
    trace.end_setup();

    for (std::uint64_t pair = 1; pair <= pairs; ++pair) {
      const TimerId id = random.below(size);
      world.cancel(id);
      arm(id);
      world.pass_time_to(pair * 1'000'000 / pairs_a_ms / tick_ns, arm);
    }
    return trace.finish(pairs, size);
  }
};
static_assert(Generator<Churn>);

}  // namespace timerbench
