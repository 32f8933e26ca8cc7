// The hold model of event simulation (Jones 1986): every timer fires, and is armed again when it
// does. W5 of the peers' figures.
#pragma once

#include <algorithm>
#include <vector>

#include "trace/model.h"
#include "workloads/random.h"
#include "workloads/trace_writer.h"

namespace timerbench {

struct Hold {
  static constexpr std::string_view name = "hold";
  static constexpr std::string_view summary =
      "N pending timers, each fire re-arms, exponential delay";
  static constexpr std::string_view item = "fire + insert";
  static constexpr bool items_are_free = true;

  std::uint32_t mean_delay = 10'000;  // ticks; exponential, at least 1

  Trace generate(const WorkloadOptions& options) const {
    const TimerId size = options.size;
    const std::uint64_t fires = options.items != 0 ? options.items
                                : size < 1'000'000 ? 1'000'000
                                                   : 2'000'000;
    TraceWriter trace(*this, options, size + 2 * fires);
    trace.note("mean_delay", mean_delay);

    Random random(options.seed);
    Model model({.capacity = size});
    const auto arm = [&](TimerId id) {
      const auto delay = static_cast<std::uint32_t>(
          std::max<std::uint64_t>(1, random.exponential(mean_delay) >> 32));
      model.schedule(id, model.now() + delay);
      trace.schedule(id, delay);
    };
    for (TimerId id = 0; id < size; ++id) arm(id);
    trace.end_setup();

    // The clock goes from one due instant to the next, as a driver's that sleeps until then.
    std::uint64_t fired_so_far = 0;
    std::vector<TimerId> fired;
    while (fired_so_far < fires && size > 0) {
      const Tick next = model.next_wakeup();
      trace.pass_time(next - model.now());
      fired.clear();
      model.advance(next, [&](TimerId due, Tick) { fired.push_back(due); });
      fired_so_far += fired.size();
      for (const TimerId due : fired) arm(due);
    }
    return trace.finish(fired_so_far, size);
  }
};
static_assert(Generator<Hold>);

}  // namespace timerbench
