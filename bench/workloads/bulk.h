// A bulk of delays over a wide horizon, armed and then expired: six million by default.
//
// Delays are log-uniform: as many between 1 and 2 ticks as between 2^24 and 2^25. The clock goes
// from one due instant to the next, which shows which structures pay for distance. As in `fill`,
// the queue has held as many timers before.
#pragma once

#include <algorithm>
#include <vector>

#include "workloads/random.h"
#include "workloads/trace_writer.h"

namespace timerbench {

struct Bulk {
  static constexpr std::string_view name = "bulk";
  static constexpr std::string_view summary = "N delays over a wide horizon, armed and expired";
  static constexpr std::string_view item = "insert + fire";
  static constexpr bool items_are_free = false;

  std::uint32_t octaves = 31;

  Parameters parameters() {
    return {{"octaves", &octaves, "delays are 1 .. 2^octaves - 1 ticks: 25 days of ms"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    TraceWriter trace(*this, options);
    if (octaves > 31) throw ParameterError("octaves: at most 31");
    Random random(options.seed);
    for (TimerId id = 0; id < options.size; ++id) trace.schedule(id, random.log_uniform(octaves));
    for (TimerId id = 0; id < options.size; ++id) trace.cancel(id);
    trace.end_setup();
    std::vector<std::uint32_t> instants;
    instants.reserve(options.size);
    for (TimerId id = 0; id < options.size; ++id) {
      instants.push_back(random.log_uniform(octaves));
      trace.schedule(id, instants.back());
    }
    std::sort(instants.begin(), instants.end());
    instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
    std::uint32_t now = 0;
    for (const std::uint32_t instant : instants) {
      trace.pass_time(instant - now);
      now = instant;
    }
    return trace.finish(options.size, options.size);
  }
};
static_assert(Generator<Bulk>);

}  // namespace timerbench
