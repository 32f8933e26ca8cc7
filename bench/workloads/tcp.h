// TCP connections as Linux times them (include/net/tcp.h). Each has four timers:
//   retransmission  at least 200 ms; armed when data is sent, cancelled by its acknowledgement,
//                   doubled up to 120 s each time it fires
//   delayed ACK     40 ms; cancelled if the answer carries the acknowledgement
//   keepalive       2 h; waits for the connection to end
//   TIME_WAIT       60 s; always fires
//
// N timers are 5 N / 8 connections: each has its keepalive, half of them leave one timer in
// TIME_WAIT, and a tenth waits for something. A connection serves requests, exponential with a mean
// of 1 s. It is closed after 100 requests in the mean, and another follows. Round trips and answers
// are log-normal. Ticks are 1 ms.
#pragma once

#include <algorithm>
#include <vector>

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

struct Tcp {
  static constexpr std::string_view name = "tcp";
  static constexpr std::string_view summary =
      "5 N / 8 connections: retransmission, delayed ACK, keepalive, TIME_WAIT";
  static constexpr std::string_view item = "request";
  static constexpr bool items_are_free = true;

  std::chrono::nanoseconds retransmit = std::chrono::milliseconds(200);
  std::chrono::nanoseconds delayed_ack = std::chrono::milliseconds(40);
  std::chrono::nanoseconds keepalive = std::chrono::hours(2);
  std::chrono::nanoseconds time_wait = std::chrono::seconds(60);
  Delays gap{"exponential 1s"};
  Delays answer{"lognormal 5ms 20ms"};
  Delays round_trip{"lognormal 20ms 60ms"};
  double closed = 0.01;

  Parameters parameters() {
    return {{"retransmit", &retransmit, "the least time-out of what is sent"},
            {"delayed_ack", &delayed_ack, "for which an acknowledgement waits for an answer"},
            {"keepalive", &keepalive, "after which a connection is probed"},
            {"time_wait", &time_wait, "for which a closed one is remembered"},
            {"gap", &gap, "from an acknowledged answer to the next request"},
            {"answer", &answer, "how long the server thinks"},
            {"round_trip", &round_trip, "until an answer is acknowledged"},
            {"closed", &closed, "the share of answers after which the connection is closed"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    enum Timer : std::uint32_t { kRetransmit, kDelayedAck, kKeepalive, kTimers };
    enum Event : std::uint32_t { kRequest, kAnswer, kAck, kEvents };
    constexpr std::uint32_t kMostBackoff = 120'000;  // TCP_RTO_MAX, in ms
    const std::uint32_t connections =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(1, std::uint64_t{options.size} * 5 / 8));
    const std::uint64_t requests = options.items != 0 ? options.items : 300'000;
    TraceWriter trace(*this, options);
    const std::uint32_t retransmit_ticks = trace.ticks(retransmit);
    const std::uint32_t delayed_ack_ticks = trace.ticks(delayed_ack);
    const std::uint32_t keepalive_ticks = trace.ticks(keepalive);
    const std::uint32_t time_wait_ticks = trace.ticks(time_wait);
    DelaySampler draw_gap = trace.sampler(gap);
    DelaySampler draw_answer = trace.sampler(answer);
    DelaySampler draw_round_trip = trace.sampler(round_trip);

    Random random(options.seed);
    const TimerId first_time_wait = connections * kTimers;
    Simulation world(trace, first_time_wait + connections);
    std::vector<std::uint32_t> backoff(connections, retransmit_ticks);
    std::vector<TimerId> free;  // for TIME_WAIT
    for (TimerId i = connections; i-- > 0;) free.push_back(first_time_wait + i);
    std::uint64_t served = 0;

    const auto timer = [](std::uint32_t connection, Timer which) {
      return connection * kTimers + which;
    };
    const auto expect = [&](std::uint32_t connection, Event what, std::uint32_t delay) {
      world.expect(world.now() + delay, connection * kEvents + what);
    };
    const auto remember = [&](std::uint32_t ticks) {
      if (free.empty()) return;  // as Linux does beyond tcp_max_tw_buckets
      world.arm(free.back(), ticks);
      free.pop_back();
    };
    const auto fired = [&](TimerId id) {
      if (id >= first_time_wait) {
        free.push_back(id);
        return;
      }
      const std::uint32_t connection = id / kTimers;
      if (id % kTimers == kRetransmit) {
        backoff[connection] = std::min(2 * backoff[connection], kMostBackoff);
        world.arm(id, backoff[connection]);
      } else if (id % kTimers == kKeepalive) {
        world.arm(id, keepalive_ticks);
      }
    };
    const auto happens = [&](std::uint32_t what) {
      const std::uint32_t connection = what / kEvents;
      switch (static_cast<Event>(what % kEvents)) {
        case kRequest:
          world.arm(timer(connection, kDelayedAck), delayed_ack_ticks);
          expect(connection, kAnswer, draw_answer(random));
          break;
        case kAnswer:
          world.cancel_if_pending(timer(connection, kDelayedAck));
          backoff[connection] = retransmit_ticks;
          world.arm(timer(connection, kRetransmit), retransmit_ticks);
          expect(connection, kAck, draw_round_trip(random));
          break;
        case kAck:
          ++served;
          world.cancel(timer(connection, kRetransmit));
          if (random.chance(closed)) {
            world.cancel(timer(connection, kKeepalive));
            remember(time_wait_ticks);
            world.arm(timer(connection, kKeepalive), keepalive_ticks);  // of the next connection
          }
          expect(connection, kRequest, draw_gap(random));
          break;
        case kEvents: break;
      }
    };
    for (std::uint32_t connection = 0; connection < connections; ++connection) {
      world.arm(timer(connection, kKeepalive), keepalive_ticks);
      expect(connection, kRequest, draw_gap(random));
    }
    // As many as were closed in the last TIME_WAIT.
    const double a_request = draw_gap.mean() + draw_answer.mean() + draw_round_trip.mean();
    for (double left = connections * closed * time_wait_ticks / a_request; left >= 1; --left) {
      remember(random.between(1, time_wait_ticks));
    }
    const auto settled = static_cast<Tick>(a_request);
    while (world.now() < settled) world.go_on(fired, happens);
    trace.end_setup();
    for (served = 0; served < requests;) world.go_on(fired, happens);
    return trace.finish(served, world.peak_pending());
  }
};
static_assert(Generator<Tcp>);

}  // namespace timerbench
