// Sessions with five timers each, after the benchmark of Ratas (Snellman, test_benchmark.cc):
//   idle       60 s, moved by every packet
//   close      180 to 190 s, fires
//   request    each second, fires
//   pace       a request is ten packets 20 us apart; a timer fires for each
//   deadline   of the request, always cancelled by the answer
//
// Three of the five are pending in the mean: N timers are N / 3 sessions, each of which is followed
// by another. Ticks are 20 us. Deviation: the answer's latency is log-normal here.
#pragma once

#include <algorithm>
#include <vector>

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

struct Session {
  static constexpr std::string_view name = "session";
  static constexpr std::string_view summary =
      "N / 3 sessions with idle, close, request, pace and deadline timers";
  static constexpr std::string_view item = "request";
  static constexpr bool items_are_free = true;
  static constexpr double unit_ns = 20'000;

  std::chrono::nanoseconds idle = std::chrono::seconds(60);
  std::chrono::nanoseconds close = std::chrono::seconds(180);
  std::chrono::nanoseconds request = std::chrono::seconds(1);
  std::chrono::nanoseconds deadline = std::chrono::seconds(5);
  std::uint32_t packets = 10;
  Delays latency{"lognormal 20ms 60ms"};

  Parameters parameters() {
    return {{"idle", &idle, "after which a silent session would be closed"},
            {"close", &close, "after which it is closed, and up to 10 s more"},
            {"request", &request, "between two requests"},
            {"deadline", &deadline, "of the answer"},
            {"packets", &packets, "of a request, a tick apart"},
            {"latency", &latency, "of the answer"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    enum Timer : std::uint32_t { kIdle, kClose, kRequest, kPace, kDeadline, kTimers };
    const std::uint32_t sessions = std::max(1U, options.size / 3);
    const std::uint64_t requests = options.items != 0 ? options.items : 100'000;
    TraceWriter trace(*this, options);
    const std::uint32_t idle_ticks = trace.ticks(idle);
    const std::uint32_t close_ticks = trace.ticks(close);
    const std::uint32_t ten_seconds = trace.ticks(std::chrono::seconds(10));
    const std::uint32_t request_ticks = trace.ticks(request);
    const std::uint32_t deadline_ticks = trace.ticks(deadline);
    DelaySampler answer_after = trace.sampler(latency);

    Random random(options.seed);
    Simulation world(trace, sessions * kTimers);
    std::vector<std::uint32_t> packets_left(sessions, 0);
    std::uint64_t begun = 0;
    const auto timer = [](std::uint32_t session, Timer which) { return session * kTimers + which; };
    const auto open = [&](std::uint32_t session, std::uint32_t closes_in) {
      world.arm(timer(session, kIdle), idle_ticks);
      world.arm(timer(session, kClose), closes_in);
      world.arm(timer(session, kRequest), random.between(1, request_ticks));
    };
    const auto fired = [&](TimerId id) {
      const std::uint32_t session = id / kTimers;
      switch (static_cast<Timer>(id % kTimers)) {
        case kRequest:
          ++begun;
          world.arm(timer(session, kRequest), request_ticks);
          world.arm(timer(session, kDeadline), deadline_ticks);
          world.arm(timer(session, kPace), 1);
          packets_left[session] = packets;
          break;
        case kPace:
          world.arm(timer(session, kIdle), idle_ticks);
          if (--packets_left[session] > 0) {
            world.arm(timer(session, kPace), 1);
          } else {
            world.expect(world.now() + answer_after(random), session);
          }
          break;
        case kClose:
          for (const Timer which : {kIdle, kRequest, kPace, kDeadline}) {
            world.cancel_if_pending(timer(session, which));
          }
          open(session, close_ticks + random.below(ten_seconds));
          break;
        case kIdle:      // a session without requests for so long counts as closed
        case kDeadline:  // an answer that never comes
        case kTimers: break;
      }
    };
    const auto answered = [&](std::uint32_t session) {
      world.cancel_if_pending(timer(session, kDeadline));
      world.arm(timer(session, kIdle), idle_ticks);
    };
    for (std::uint32_t session = 0; session < sessions; ++session) {
      open(session, random.between(1, close_ticks));
    }
    trace.end_setup();
    while (begun < requests) world.go_on(fired, answered);
    return trace.finish(begun, world.peak_pending());
  }
};
static_assert(Generator<Session>);

}  // namespace timerbench
