// Herds that come again: N periodic timers, due at one of ten marks a second apart, because people
// choose round values. At each mark a tenth of them fires at once and is armed for the same mark of
// the next round. Draining such a slot costs 7 to 8 times the usual in the tail (glommio#44). Ticks
// are 1 ms; the clock advances a hundred times a second, and at the marks.
#pragma once

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

struct Herds {
  static constexpr std::string_view name = "herds";
  static constexpr std::string_view summary =
      "N periodic timers, a tenth of them due at once each second";
  static constexpr std::string_view item = "fire + insert";
  static constexpr bool items_are_free = true;

  std::chrono::nanoseconds apart = std::chrono::seconds(1);
  std::uint32_t herds = 10;
  std::chrono::nanoseconds tick = std::chrono::milliseconds(10);

  Parameters parameters() {
    return {{"apart", &apart, "from one mark to the next"},
            {"herds", &herds, "how many marks there are"},
            {"tick", &tick, "between two looks at the clock"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    const TimerId size = options.size;
    const std::uint64_t fires = options.items != 0 ? options.items : 1'000'000;
    TraceWriter trace(*this, options);
    const std::uint32_t apart_ticks = trace.ticks(apart);
    const std::uint32_t step = std::min(trace.ticks(tick), apart_ticks);
    if (herds > kMaxDelay / apart_ticks) throw ParameterError("herds: too many, too far apart");
    Random random(options.seed);
    Simulation world(trace, size);
    for (const TimerId id : random.permutation(size)) {
      world.arm(id, apart_ticks * (1 + random.below(herds)));
    }
    trace.end_setup();
    std::uint64_t fired = 0;
    while (fired < fires) {
      const Tick mark = world.now() / apart_ticks * apart_ticks + apart_ticks;
      world.step_to(std::min(mark, world.now() + step), [&](TimerId id) {
        world.arm(id, apart_ticks * herds);
        ++fired;
      });
    }
    return trace.finish(fired, size);
  }
};
static_assert(Generator<Herds>);

}  // namespace timerbench
