// Unpaid orders: the shop cancels an order after 15 or 30 minutes unless it is paid. Most are paid
// within minutes. Half of the orders come in the first second of a minute, because sales begin on
// the minute, the others at any time.
//
// The durations are those that shops publish. The share that is paid, 90 %, is an assumption. N
// orders are pending in the mean, and the trace begins in the stationary state. The clock goes to
// every instant at which something happens, in ms.
#pragma once

#include <algorithm>
#include <vector>

#include "workloads/requests.h"

namespace timerbench {

struct Orders {
  static constexpr std::string_view name = "orders";
  static constexpr std::string_view summary =
      "N unpaid orders, 90 % paid before 15 or 30 minutes, bursts on the minute";
  static constexpr std::string_view item = "order";
  static constexpr bool items_are_free = true;

  std::chrono::nanoseconds short_timeout = std::chrono::minutes(15);
  std::chrono::nanoseconds long_timeout = std::chrono::minutes(30);
  double paid = 0.9;
  Delays payment{"lognormal 1min 4min"};
  double burst = 0.5;

  Parameters parameters() {
    return {{"short_timeout", &short_timeout, "of half of the orders"},
            {"long_timeout", &long_timeout, "of the others"},
            {"paid", &paid, "the share that is paid, unless too late"},
            {"payment", &payment, "after which they are"},
            {"burst", &burst, "the share that comes in the first second of a minute"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    constexpr std::uint32_t kSecond = 1'000;
    constexpr std::uint32_t kMinute = 60 * kSecond;
    constexpr std::uint32_t kArrival =
        ~std::uint32_t{0};  // on the agenda; any other entry is the id that is paid
    const TimerId size = options.size;
    const std::uint64_t orders = options.items != 0 ? options.items : 1'000'000;
    TraceWriter trace(*this, options);
    const std::uint32_t timeouts[] = {trace.ticks(short_timeout), trace.ticks(long_timeout)};
    DelaySampler pay = trace.sampler(payment);

    Random random(options.seed);
    Simulation world(trace, 2 * size + 64);
    const auto draw = [&]() -> RequestEnds {
      const std::uint32_t timeout = timeouts[random.below(2)];
      return {timeout, random.chance(paid) ? pay(random) : timeout};
    };
    std::vector<TimerId> free;
    TimerId used = 0;
    const auto begin = [&](RequestEnds ends) {
      if (free.empty()) free.push_back(used++);
      const TimerId id = free.back();
      free.pop_back();
      world.arm(id, ends.timeout);
      if (ends.latency < ends.timeout) world.expect(world.now() + ends.latency, id);
    };
    while (used < size) begin(draw_under_way(draw, random));
    trace.end_setup();

    // By Little's law, N are pending in the mean if this many come in a minute.
    double mean_length = 0;
    constexpr int kDraws = 10'000;
    for (int i = 0; i < kDraws; ++i) mean_length += draw().length() / double{kDraws};
    const double a_minute = size * (kMinute / mean_length);
    std::uint64_t come = 0;
    std::uint64_t expected = 0;
    const auto happens = [&](std::uint32_t what) {
      if (what == kArrival) {
        ++come;
        if (used < 2 * size + 64 || !free.empty()) begin(draw());
      } else {
        world.cancel(what);
        free.push_back(what);
      }
    };
    const auto timed_out = [&](TimerId id) { free.push_back(id); };
    for (Tick minute = 0; come < orders; ++minute) {
      const auto until = static_cast<std::uint64_t>(static_cast<double>(minute + 1) * a_minute);
      for (; expected < until; ++expected) {
        const std::uint32_t within = random.chance(burst) ? kSecond : kMinute;
        world.expect(minute * kMinute + random.below(within), kArrival);
      }
      world.expect((minute + 1) * kMinute, kArrival);  // so that the clock reaches it
      ++expected;
      while (come < orders && world.now() < (minute + 1) * kMinute) world.go_on(timed_out, happens);
    }
    trace.set_capacity(used);
    return trace.finish(come, world.peak_pending());
  }
};
static_assert(Generator<Orders>);

}  // namespace timerbench
