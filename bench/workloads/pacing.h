// Packet pacing: each of N flows has one timer, for its next packet. The timer always fires and is
// then armed for the packet after. Flows differ by orders of magnitude in their rate: gaps begin at
// 10 ms and follow a power law up to a horizon of 2 s (Carousel, SIGCOMM 2017, and Eiffel, NSDI
// 2019, which name 10^4 to 10^6 flows and a horizon of 2 to 4 s). Ticks are 1 us.
#pragma once

#include <vector>

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

struct Pacing {
  static constexpr std::string_view name = "pacing";
  static constexpr std::string_view summary =
      "N flows, each packet's timer fires and arms the next, gaps 10 ms - 2 s";
  static constexpr std::string_view item = "fire + insert";
  static constexpr bool items_are_free = true;
  static constexpr double unit_ns = 1'000;

  Delays gap{"pareto 10ms 0.5 2s"};

  Parameters parameters() {
    return {{"gap", &gap, "between the packets of a flow, for each flow"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    const TimerId flows = options.size;
    const std::uint64_t packets = options.items != 0 ? options.items : 1'000'000;
    TraceWriter trace(*this, options);
    DelaySampler sample = trace.sampler(gap);
    Random random(options.seed);
    Simulation world(trace, flows);
    std::vector<std::uint32_t> gaps;
    for (TimerId flow = 0; flow < flows; ++flow) {
      gaps.push_back(sample(random));
      world.arm(flow, random.between(1, gaps.back()));
    }
    trace.end_setup();
    std::uint64_t sent = 0;
    while (sent < packets) {
      world.step_to(world.next_due(), [&](TimerId flow) {
        world.arm(flow, gaps[flow]);
        ++sent;
      });
    }
    return trace.finish(sent, flows);
  }
};
static_assert(Generator<Pacing>);

}  // namespace timerbench
