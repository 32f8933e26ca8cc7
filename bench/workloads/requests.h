// Requests with time-outs: N are under way, each armed with a time-out. A request ends when it is
// answered, which cancels the time-out, or when it times out; the next one begins at once.
//
// N sources that each renew themselves come close to Poisson arrivals. The trace begins in the
// stationary state. Each struct below is a load that was published; all of them take other
// distributions and ticks. The clock goes to every tick at which something happens.
#pragma once

#include <algorithm>
#include <utility>

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

// What the loads have in common: the time-out of a request, and how long its answer takes.
struct RequestTimes {
  Delays timeout;
  Delays latency;
  std::chrono::nanoseconds resolution = kDefaultResolution;

  Parameters parameters() {
    return {{"timeout", &timeout, "of a request"},
            {"latency", &latency, "after which it is answered, unless timed out"},
            {"resolution", &resolution, kMeaningOfResolution}};
  }
};

// When a request times out and when it would be answered, in ticks from now.
struct RequestEnds {
  std::uint32_t timeout, latency;

  std::uint32_t length() const { return std::min(timeout, latency); }
};

// Draws a request that is under way at some instant, and returns what is left of it. `draw` draws
// requests that begin; long ones are more frequent among those under way.
template <class Draw>
RequestEnds draw_under_way(Draw&& draw, Random& random) {
  // Of many that begin one is chosen, in proportion to how long it takes.
  constexpr int kCandidates = 32;
  RequestEnds chosen{};
  std::uint64_t total = 0;
  for (int i = 0; i < kCandidates; ++i) {
    const RequestEnds candidate = draw();
    total += candidate.length();
    if (random.next() % total < candidate.length()) chosen = candidate;
  }
  const std::uint32_t age = random.below(chosen.length());
  return {chosen.timeout - age, chosen.latency - age};
}

template <Generator G>
Trace generate_requests(const G& load, const WorkloadOptions& options) {
  const TimerId size = options.size;
  const std::uint64_t requests = options.items != 0 ? options.items : 1'000'000;
  TraceWriter trace(load, options);
  DelaySampler timeout = trace.sampler(load.timeout);
  DelaySampler latency = trace.sampler(load.latency);

  Random random(options.seed);
  Simulation world(trace, size);
  const auto draw = [&] {
    const std::uint32_t its_timeout = timeout(random);
    return RequestEnds{its_timeout, latency(random)};
  };
  const auto begin = [&](TimerId id, RequestEnds ends) {
    world.arm(id, ends.timeout);
    if (ends.latency < ends.timeout) world.expect(world.now() + ends.latency, id);
  };
  for (TimerId id = 0; id < size; ++id) begin(id, draw_under_way(draw, random));
  trace.end_setup();

  std::uint64_t ended = 0;
  const auto follow = [&](TimerId id) {
    ++ended;
    begin(id, draw());
  };
  const auto answer = [&](TimerId id) {
    world.cancel(id);
    follow(id);
  };
  while (ended < requests) world.go_on(follow, answer);  // NOLINT(bugprone-infinite-loop)
  return trace.finish(ended, size);
}

// A share of cancelled requests: the latency is uniform from 1 ms to the time-out divided by the
// share. The default is 99 %, as of the time-outs of Linux (Gleixner 2016).
struct Requests : RequestTimes {
  static constexpr std::string_view name = "requests";
  static constexpr std::string_view summary =
      "N requests under way, answered (99 %) or timed out after 30 s";
  static constexpr std::string_view item = "request";
  static constexpr bool items_are_free = true;

  Requests() : RequestTimes{Delays("constant 30s"), Delays("uniform 1ms 30303ms")} {}
  Trace generate(const WorkloadOptions& options) const { return generate_requests(*this, options); }
};
static_assert(Generator<Requests>);

// Kafka's purgatory benchmark (Apache wiki, Purgatory Redesign): time-out 200 ms, log-normal
// completion. In the low case 7.9 % time out, in the high one 50 %.
struct PurgatoryLow : RequestTimes {
  static constexpr std::string_view name = "purgatory_low";
  static constexpr std::string_view summary =
      "N Kafka requests under way, 92 % completed before their 200 ms are over";
  static constexpr std::string_view item = "request";
  static constexpr bool items_are_free = true;

  PurgatoryLow() : RequestTimes{Delays("constant 200ms"), Delays("lognormal 20ms 60ms")} {}
  Trace generate(const WorkloadOptions& options) const { return generate_requests(*this, options); }
};
static_assert(Generator<PurgatoryLow>);

struct PurgatoryHigh : RequestTimes {
  static constexpr std::string_view name = "purgatory_high";
  static constexpr std::string_view summary =
      "N Kafka requests under way, half completed before their 200 ms are over";
  static constexpr std::string_view item = "request";
  static constexpr bool items_are_free = true;

  PurgatoryHigh() : RequestTimes{Delays("constant 200ms"), Delays("lognormal 200ms 400ms")} {}
  Trace generate(const WorkloadOptions& options) const { return generate_requests(*this, options); }
};
static_assert(Generator<PurgatoryHigh>);

// A read time-out for each operation of N connections, all of one length: of 65 536 armed in a
// server none fired (glommio#44).
struct ReadTimeouts : RequestTimes {
  static constexpr std::string_view name = "read_timeouts";
  static constexpr std::string_view summary =
      "N connections that wait to read, every 30 s time-out cancelled";
  static constexpr std::string_view item = "read";
  static constexpr bool items_are_free = true;

  ReadTimeouts() : RequestTimes{Delays("constant 30s"), Delays("uniform 1ms 1s")} {}
  Trace generate(const WorkloadOptions& options) const { return generate_requests(*this, options); }
};
static_assert(Generator<ReadTimeouts>);

}  // namespace timerbench
