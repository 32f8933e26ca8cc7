// Steady cancelling and re-arming: the life of request time-outs. W4 of the peers' figures.
//
// N timers are pending. A random one is cancelled and armed again, far enough ahead that most never
// fire; time passes. Those that do fire are armed again at once, and their cost is in the figure.
// Deviation: W4 begins with fresh timers, this with the ages that a long churn leads to, so that a
// figure does not depend on how many pairs are measured. At 10^3 and 10^5 that makes no difference;
// at 10^6 W4 has 0.19 fires a pair and at 10^7 none, this has 0.31.
#pragma once

#include <algorithm>
#include <vector>

#include "trace/model.h"
#include "workloads/random.h"
#include "workloads/trace_writer.h"

namespace timerbench {

struct Churn {
  static constexpr std::string_view name = "churn";
  static constexpr std::string_view summary =
      "N pending timers, a random one cancelled and armed again, time passing";
  static constexpr std::string_view item = "cancel + insert";
  static constexpr bool items_are_free = true;

  std::uint32_t min_delay = 30'000;  // ticks; delays are uniform over min_delay .. max_delay
  std::uint32_t max_delay = 60'000;
  std::uint32_t pace =
      30'000;  // a tick passes every max(1, N / pace) pairs, whole ones: where N is
               // a multiple, a timer is chosen once in `pace` ticks, and 0.30 fire
               // for each pair; at 10^5, every 3 pairs, it is 0.37

  Trace generate(const WorkloadOptions& options) const {
    const TimerId size = options.size;
    const std::uint64_t pairs = options.items != 0 ? options.items
                                : size < 1'000'000 ? 5'000'000
                                                   : 2'000'000;
    const std::uint64_t pairs_a_tick = std::max(1U, size / pace);
    TraceWriter trace(*this, options, size + 3 * pairs);
    trace.note("min_delay", min_delay);
    trace.note("max_delay", max_delay);
    trace.note("pairs_a_tick", pairs_a_tick);

    Random random(options.seed);
    Model model({.capacity = size});
    const auto arm_for = [&](TimerId id, std::uint32_t delay) {
      model.schedule(id, model.now() + delay);
      trace.schedule(id, delay);
    };
    const auto arm = [&](TimerId id) { arm_for(id, random.between(min_delay, max_delay)); };

    // As old as after a long churn, so that fires come from the beginning, at the rate at which
    // they go on: a timer is chosen at a constant rate, and those that would have fired are not
    // there.
    const std::uint64_t mean_age = size / pairs_a_tick;
    for (TimerId id = 0; id < size; ++id) {
      std::uint32_t delay = 0;
      std::uint64_t age = 0;
      do {
        delay = random.between(min_delay, max_delay);
        age = random.exponential(mean_age) >> 32;
      } while (age >= delay);
      arm_for(id, delay - static_cast<std::uint32_t>(age));
    }
    trace.end_setup();

    std::vector<TimerId> fired;
    for (std::uint64_t pair = 1; pair <= pairs; ++pair) {
      const TimerId id = random.below(size);
      trace.cancel(id);
      arm(id);
      if (pair % pairs_a_tick != 0) continue;
      fired.clear();
      model.advance(model.now() + 1, [&](TimerId due, Tick) { fired.push_back(due); });
      trace.pass_time(1);
      for (const TimerId due : fired) arm(due);
    }
    return trace.finish(pairs, size);
  }
};
static_assert(Generator<Churn>);

}  // namespace timerbench
