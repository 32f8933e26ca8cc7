// Events at a rate: N timers a second arrive at random, each for an object of its own, and fire.
//
// Arrivals are a Poisson process. Delays are log-uniform from 1 ms to 1 s, 150 ms in the mean, so
// that 0.15 N timers are pending. The load is made to be paced: the first second of arrivals is
// setup, so that fires come at the rate of arrivals from the start. An id is free again when its
// timer has fired. Like the clock of an event loop, the clock goes to every instant at which a
// timer arrives or fires.
#pragma once

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "workloads/random.h"
#include "workloads/trace_writer.h"

namespace timerbench {

struct Arrivals {
  static constexpr std::string_view name = "arrivals";
  static constexpr std::string_view summary = "N timers a second, delays 1 ms - 1 s, all fire";
  static constexpr std::string_view item = "insert + fire";
  static constexpr bool items_are_free = true;
  static constexpr double unit_ns = 1'000;

  std::uint32_t octaves = 10;
  std::uint32_t measured_seconds = 3;

  Parameters parameters() {
    return {{"octaves", &octaves, "delays are 1024 .. 1024 * 2^octaves - 1 us"},
            {"measured_seconds", &measured_seconds, "of arrivals, unless items are told"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    const std::uint64_t rate = std::max(1U, options.size);
    const std::uint64_t mean_gap_ns = 1'000'000'000 / rate;
    const std::uint32_t shortest = 1U << kShortestBits;
    const Tick setup = Tick{shortest} << octaves;
    const std::uint64_t items = options.items != 0 ? options.items : rate * measured_seconds;
    TraceWriter trace(*this, options);
    if (octaves > 20) throw ParameterError("octaves: at most 20");
    Random random(options.seed);
    using Timer = std::pair<Tick, TimerId>;  // deadline, id
    std::priority_queue<Timer, std::vector<Timer>, std::greater<>> pending;
    std::vector<TimerId> free;
    TimerId capacity = 0;
    Tick now = 0;
    const auto pass_time_to = [&](Tick instant) {
      while (now < instant) {
        const Tick next = pending.empty() ? instant : std::min(instant, pending.top().first);
        trace.pass_time(next - now);
        now = next;
        for (; !pending.empty() && pending.top().first <= now; pending.pop()) {
          free.push_back(pending.top().second);
        }
      }
    };
    std::uint64_t arrival_ns = 0;
    const auto arrive = [&] {
      arrival_ns += ((random.exponential(1U << kGapBits) >> 32) * mean_gap_ns) >> kGapBits;
      pass_time_to(arrival_ns / 1'000);
      if (free.empty()) free.push_back(capacity++);
      const TimerId id = free.back();
      free.pop_back();
      const std::uint32_t delay = shortest * random.log_uniform(octaves) + random.below(shortest);
      pending.emplace(now + delay, id);
      trace.schedule(id, delay);
    };
    while (now < setup) arrive();
    trace.end_setup();
    for (std::uint64_t i = 0; i < items; ++i) arrive();
    trace.set_capacity(capacity);
    return trace.finish(items, capacity);
  }

 private:
  static constexpr int kShortestBits = 10;  // of the shortest delay
  static constexpr int kGapBits = 20;       // gaps are drawn in units of 2^-20 of the mean
};
static_assert(Generator<Arrivals>);

}  // namespace timerbench
