// Statistics of a trace: how its timers end, and how long their delays are.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "trace/trace.h"

namespace timerbench {

// How schedules ended; the four add up to the number of schedules.
struct Ends {
  std::uint64_t cancelled = 0;
  std::uint64_t moved = 0;  // scheduled again while pending
  std::uint64_t fired = 0;
  std::uint64_t pending = 0;  // at the end of the trace
};

// Statistics of the whole trace, setup included.
struct TraceStat : Ends {
  std::uint64_t ops = 0;
  OpCounts counts;
  Tick duration = 0;
  std::uint64_t peak_pending = 0;

  std::uint64_t vain_cancels = 0;  // cancels that found no pending timer

  // The delays of all schedules, in ticks.
  struct Percentile {
    int percent;
    std::uint32_t delay = 0;
  };
  std::array<Percentile, 7> percentiles = {{{0}, {1}, {10}, {50}, {90}, {99}, {100}}};
  // [0] counts the delays of 0, [k] those with 2^(k-1) <= delay < 2^k.
  std::array<std::uint64_t, 33> histogram{};
};

TraceStat stat_trace(const Trace& trace);

// How schedules ended in the measured part of the trace, whether the setup made them or not. `stat`
// is that of the trace. Replays the setup with the model if info().setup_outcome is not known.
Ends measured_ends(const Trace& trace, const TraceStat& stat);

// Some forty aligned lines of text.
std::string to_text(const TraceStat& stat, const TraceInfo& info);

}  // namespace timerbench
