// Times to live of cached values: few distinct ones, each value overwritten again and again before
// it expires. Values that nobody asks for any more do expire. After 153 clusters of Twitter (Yang
// et al., OSDI 2020) and Pelikan's Segcache, whose times to live are seconds to weeks.
//
// N keys are in four namespaces with times to live of 1 minute, 10 minutes, 1 hour and 1 day. A
// write arms or moves its key's timer. The r-th key is written in proportion to 1 / r; the mean
// over all keys is a write every 10 s. Ticks are 1 ms.
#pragma once

#include <algorithm>
#include <bit>

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

struct CacheTtl {
  static constexpr std::string_view name = "cache_ttl";
  static constexpr std::string_view summary =
      "N keys with TTLs of 1 min - 1 day, moved by each write, hot ones often";
  static constexpr std::string_view item = "write";
  static constexpr bool items_are_free = true;

  std::chrono::nanoseconds shortest = std::chrono::minutes(1);
  std::chrono::nanoseconds short_ttl = std::chrono::minutes(10);
  std::chrono::nanoseconds long_ttl = std::chrono::hours(1);
  std::chrono::nanoseconds longest = std::chrono::hours(24);
  std::chrono::nanoseconds gap = std::chrono::seconds(10);

  Parameters parameters() {
    return {{"shortest", &shortest, "TTL of the first namespace"},
            {"short_ttl", &short_ttl, "of the second"},
            {"long_ttl", &long_ttl, "of the third"},
            {"longest", &longest, "of the fourth"},
            {"gap", &gap, "between two writes of a key, in the mean"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    const TimerId size = options.size;
    const std::uint64_t writes = options.items != 0 ? options.items : 1'000'000;
    TraceWriter trace(*this, options);
    const std::uint32_t ttls[] = {trace.ticks(shortest), trace.ticks(short_ttl),
                                  trace.ticks(long_ttl), trace.ticks(longest)};
    const std::uint64_t ns_a_tick = 1'000'000;
    const std::uint64_t writes_gap_ns = std::max<std::uint64_t>(1, gap.count() / size);

    Random random(options.seed);
    Simulation world(trace, size);
    const auto order = random.permutation(size);
    const auto ttl = [&](TimerId key) { return ttls[key % std::size(ttls)]; };
    for (const TimerId key : order) world.arm(key, random.between(1, ttl(key)));
    trace.end_setup();
    const auto octaves = static_cast<std::uint32_t>(std::bit_width(size));
    std::uint64_t now_ns = 0;
    for (std::uint64_t i = 0; i < writes; ++i) {
      now_ns += random.next() % (2 * writes_gap_ns);
      world.pass_time_to(now_ns / ns_a_tick, [](TimerId) {});
      const TimerId key = order[(random.log_uniform(octaves) - 1) % size];
      world.arm(key, ttl(key));
    }
    return trace.finish(writes, world.peak_pending());
  }
};
static_assert(Generator<CacheTtl>);

}  // namespace timerbench
