// The connection problem: N connections, each dropped after 30 s without a request, as nginx does
// with HTTP keep-alive.
//
// Every request moves its connection's deadline to 30 s from now. When a connection times out, a
// new one takes its place and is armed at once. Like the clock of an event loop, the clock goes to
// every instant at which a request comes or a connection times out.
#pragma once

#include <algorithm>

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

struct Keepalive {
  static constexpr std::string_view name = "keepalive";
  static constexpr std::string_view summary =
      "N connections with a 30 s time-out, each moved by its requests";
  static constexpr std::string_view item = "request";
  static constexpr bool items_are_free = true;

  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
  std::uint32_t requests_per_100k_s = 3000;
  std::uint32_t measured_seconds = 60;
  std::chrono::nanoseconds resolution = kDefaultResolution;

  Parameters parameters() {
    return {{"timeout", &timeout, "after which a silent connection is dropped"},
            {"requests_per_100k_s", &requests_per_100k_s, "a second, of 10^5 connections"},
            {"measured_seconds", &measured_seconds, "of requests, unless items are told"},
            {"resolution", &resolution, kMeaningOfResolution}};
  }

  Trace generate(const WorkloadOptions& options) const { return generate_as(*this, options); }

 protected:
  // `self`: this object, as the generator that the trace names.
  template <class Self>
  Trace generate_as(const Self& self, const WorkloadOptions& options) const {
    const TimerId size = options.size;
    const std::uint64_t mean_gap_ns =
        100'000'000'000'000 / requests_per_100k_s / std::max(1U, size);
    const std::uint64_t gap_unit_ns = mean_gap_ns < 100'000'000 ? 1 : 1'000'000;  // a tick, if long
    const std::uint64_t requests_a_second = std::uint64_t{size} * requests_per_100k_s / 100'000 + 1;
    const std::uint64_t requests =
        options.items != 0 ? options.items : requests_a_second * measured_seconds;
    TraceWriter trace(self, options);
    const auto tick_ns = static_cast<std::uint64_t>(resolution.count());
    const std::uint32_t timeout_ticks = trace.ticks(timeout);

    Random random(options.seed);
    Simulation world(trace, size);
    const auto arm = [&](TimerId id) { world.arm(id, timeout_ticks); };

    // Connections begin with the ages that they keep: silent for an exponential time, cut off at
    // the time-out. An exponential time has no memory, so the cut-off one is its remainder on
    // division by the time-out.
    const std::uint32_t mean_silence_ms = 100'000'000 / requests_per_100k_s;
    for (TimerId id = 0; id < size; ++id) {
      const std::uint64_t silence = random.exponential_ns(mean_silence_ms) / tick_ns;
      world.arm(id, static_cast<std::uint32_t>(timeout_ticks - silence % timeout_ticks));
    }
    std::uint64_t arrival_ns = 0;
    const auto serve_next = [&] {
      world.pass_time_to(arrival_ns / tick_ns, arm);
      arm(random.below(size));
      return arrival_ns += (random.exponential(mean_gap_ns / gap_unit_ns) >> 32) * gap_unit_ns;
    };
    // The structure gets its history: a request of each connection, or a time-out's length of them.
    const std::uint64_t timeout_ns = timeout_ticks * tick_ns;
    for (TimerId i = 0; i < size && serve_next() < timeout_ns; ++i) continue;
    trace.end_setup();
    for (std::uint64_t i = 0; i < requests; ++i) serve_next();
    return trace.finish(requests, size);
  }
};
static_assert(Generator<Keepalive>);

}  // namespace timerbench
