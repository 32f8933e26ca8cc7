// Deadlines of a database client. Each operation has one for the whole of it and one for each of
// the three things that it waits for in turn: a connection, the sending and the answer. 280 000
// operations a second with 3 to 4 timers each are about a million timers armed and cancelled
// (aerospike-client-rust#208); hardly one fires.
//
// N timers are pending: N / 2 operations are under way, and each is followed by another. Ticks are
// 1 us, because operations take milliseconds.
#pragma once

#include <algorithm>

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

struct Database {
  static constexpr std::string_view name = "database";
  static constexpr std::string_view summary =
      "N / 2 operations of a database client, each with four deadlines, all cancelled";
  static constexpr std::string_view item = "operation";
  static constexpr bool items_are_free = true;
  static constexpr double unit_ns = 1'000;

  std::chrono::nanoseconds total_timeout = std::chrono::seconds(1);
  std::chrono::nanoseconds socket_timeout = std::chrono::seconds(30);
  Delays wait{"lognormal 300us 700us"};

  Parameters parameters() {
    return {{"total_timeout", &total_timeout, "of an operation"},
            {"socket_timeout", &socket_timeout, "of each of its three waits"},
            {"wait", &wait, "how long one takes"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    constexpr std::uint32_t kWaits = 3;
    const std::uint32_t operations = std::max(1U, options.size / 2);
    const std::uint64_t items = options.items != 0 ? options.items : 300'000;
    TraceWriter trace(*this, options);
    const std::uint32_t total_ticks = trace.ticks(total_timeout);
    const std::uint32_t socket_ticks = trace.ticks(socket_timeout);
    DelaySampler draw = trace.sampler(wait);

    // Operation i has timer 2 i for the whole of it and timer 2 i + 1 for what it waits for. The
    // agenda has the end of each wait.
    Random random(options.seed);
    Simulation world(trace, 2 * operations);
    std::uint64_t ended = 0;
    const auto begin_wait = [&](std::uint32_t operation, std::uint32_t number) {
      world.arm(2 * operation + 1, socket_ticks);
      world.expect(world.now() + draw(random), operation * kWaits + number);
    };
    const auto begin = [&](std::uint32_t operation) {
      world.arm(2 * operation, total_ticks);
      begin_wait(operation, 0);
    };
    const auto wait_ends = [&](std::uint32_t what) {
      const auto [operation, number] = std::pair(what / kWaits, what % kWaits);
      world.cancel(2 * operation + 1);
      if (number + 1 < kWaits) return begin_wait(operation, number + 1);
      world.cancel_if_pending(2 * operation);  // an operation that took longer has failed
      ++ended;
      begin(operation);
    };
    for (std::uint32_t operation = 0; operation < operations; ++operation) begin(operation);
    // Until the operations are out of step.
    const Tick settled = static_cast<Tick>(4 * kWaits * draw.mean());
    while (world.now() < settled) world.go_on([](TimerId) {}, wait_ends);
    trace.end_setup();
    for (ended = 0; ended < items;) world.go_on([](TimerId) {}, wait_ends);
    return trace.finish(ended, world.peak_pending());
  }
};
static_assert(Generator<Database>);

}  // namespace timerbench
