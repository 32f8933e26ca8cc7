// What a trace consists of: how its timers end, and how long they are set for.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "trace/trace.h"

namespace timerbench {

// Of the whole trace, setup included.
struct TraceStat {
  std::uint64_t ops = 0;
  OpCounts counts;
  Tick duration = 0;
  std::uint64_t peak_pending = 0;

  // How what was scheduled ended; together they are counts.schedules.
  std::uint64_t cancelled = 0;
  std::uint64_t moved = 0;  // scheduled again while pending
  std::uint64_t fired = 0;
  std::uint64_t pending = 0;  // not ended

  std::uint64_t vain_cancels = 0;  // found nothing to cancel

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

// For people: some forty aligned lines.
std::string to_text(const TraceStat& stat, const TraceInfo& info);

}  // namespace timerbench
