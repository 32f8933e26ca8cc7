// Deadlines that are moved earlier: every 20 ms each of N timers is set to 5 s, which is earlier
// than its deadline, and then back to 10 s (go#41699: 50 000 timers, 5 million resets a second; in
// production 160 000 connections on 4 cores). No timer fires.
//
// It breaks structures that leave an entry behind where a timer was: Go's timers used up whole
// processors. Ticks are 1 ms; in each of them one timer in 20 is moved.
#pragma once

#include <algorithm>

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

struct MovedEarlier {
  static constexpr std::string_view name = "moved_earlier";
  static constexpr std::string_view summary =
      "N timers, each set to 5 s and back to 10 s every 20 ms; none fires";
  static constexpr std::string_view item = "move";
  static constexpr bool items_are_free = true;

  std::chrono::nanoseconds nearer = std::chrono::seconds(5);
  std::chrono::nanoseconds farther = std::chrono::seconds(10);
  std::chrono::nanoseconds period = std::chrono::milliseconds(20);

  Parameters parameters() {
    return {{"nearer", &nearer, "to which a timer is moved first"},
            {"farther", &farther, "to which it is moved then"},
            {"period", &period, "after which it has its turn again"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    const TimerId size = options.size;
    const std::uint64_t moves = options.items != 0 ? options.items : 2'000'000;
    TraceWriter trace(*this, options);
    const std::uint32_t nearer_ticks = trace.ticks(nearer);
    const std::uint32_t farther_ticks = trace.ticks(farther);
    const std::uint32_t period_ticks = trace.ticks(period);
    if (nearer_ticks <= period_ticks || farther_ticks <= nearer_ticks) {
      throw ParameterError("period, nearer and farther must be in this order");
    }
    Random random(options.seed);
    Simulation world(trace, size);
    const auto order = random.permutation(size);
    for (const TimerId id : order) world.arm(id, farther_ticks);
    trace.end_setup();
    std::uint64_t moved = 0;
    // How many timers of a period have had their turn by the end of a tick.
    std::uint64_t turns = 0;
    for (Tick tick = 1; moved < moves; ++tick) {
      for (; turns < tick * size / period_ticks && moved < moves; ++turns, moved += 2) {
        const TimerId id = order[turns % size];
        world.arm(id, nearer_ticks);
        world.arm(id, farther_ticks);
      }
      world.step_to(tick, [](TimerId) {});
    }
    return trace.finish(moved, size);
  }
};
static_assert(Generator<MovedEarlier>);

}  // namespace timerbench
