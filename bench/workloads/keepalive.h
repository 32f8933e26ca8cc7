// The connection problem: N connections, each dropped after 30 s without a request.
//
// Every request moves its connection's deadline to 30 s from now. A connection that times out makes
// room for a new one, which is armed at once. The clock goes to every instant at which something
// happens, request or time-out, as an event loop's does. Nginx, HTTP keep-alive.
#pragma once

#include <algorithm>
#include <vector>

#include "trace/model.h"
#include "workloads/random.h"
#include "workloads/trace_writer.h"

namespace timerbench {

struct Keepalive {
  static constexpr std::string_view name = "keepalive";
  static constexpr std::string_view summary =
      "N connections with a 30 s time-out, each moved by its requests";
  static constexpr std::string_view item = "request";
  static constexpr bool items_are_free = true;

  std::uint32_t timeout = 30'000;            // ms
  std::uint32_t requests_per_100k_s = 3000;  // per second and 10^5 connections; exponential gaps
  std::uint32_t measured_seconds = 60;       // after one time-out's length of setup

  Trace generate(const WorkloadOptions& options) const {
    const TimerId size = options.size;
    const std::uint64_t mean_gap_ns =
        100'000'000'000'000 / requests_per_100k_s / std::max(1U, size);
    const std::uint64_t gap_unit_ns = mean_gap_ns < 100'000'000 ? 1 : 1'000'000;  // a tick, if long
    const std::uint64_t requests_a_second = std::uint64_t{size} * requests_per_100k_s / 100'000 + 1;
    const std::uint64_t requests =
        options.items != 0 ? options.items : requests_a_second * measured_seconds;
    TraceWriter trace(*this, options, size + 3 * (requests + requests_a_second * timeout / 1000));
    trace.note("timeout", timeout);
    trace.note("requests_per_100k_s", requests_per_100k_s);

    Random random(options.seed);
    Model model({.capacity = size});
    const auto arm = [&](TimerId id, std::uint32_t delay) {
      model.schedule(id, model.now() + delay);
      trace.schedule(id, delay);
    };
    std::vector<TimerId> fired;
    const auto pass_time_to = [&](Tick instant) {
      while (model.now() < instant) {
        const Tick next = std::min(instant, model.next_wakeup());
        trace.pass_time(next - model.now());
        fired.clear();
        model.advance(next, [&](TimerId due, Tick) { fired.push_back(due); });
        for (const TimerId due : fired) arm(due, timeout);
      }
    };

    // Connections arrived over the last time-out's length.
    for (TimerId id = 0; id < size; ++id) arm(id, random.between(1, timeout));
    std::uint64_t arrival_ns = 0;
    const auto serve_next = [&] {
      pass_time_to(arrival_ns / 1'000'000);
      arm(random.below(size), timeout);
      arrival_ns += (random.exponential(mean_gap_ns / gap_unit_ns) >> 32) * gap_unit_ns;
    };
    while (arrival_ns < timeout * std::uint64_t{1'000'000}) serve_next();
    trace.end_setup();
    for (std::uint64_t i = 0; i < requests; ++i) serve_next();
    return trace.finish(requests, size);
  }
};
static_assert(Generator<Keepalive>);

}  // namespace timerbench
