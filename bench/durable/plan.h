// What producers do at which instant: a load that is planned for the wall clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/timer_queue.h"
#include "trace/trace.h"

namespace timerbench {

// Instants are in ns from the start.
struct DurablePlan {
  struct Timer {
    Tick deadline;
    bool is_cancelled = false;  // before its deadline, and before the end
  };
  struct Op {
    Tick at;
    std::uint64_t timer;
    bool cancels;  // else it arms
  };

  std::vector<Timer> timers{};  // by id
  std::uint64_t before = 0;     // the first so many are armed before the start, the others by `ops`
  std::vector<Op> ops{};        // in order
  Tick end = 0;                 // of the window; what is due later need not fire
  std::size_t together = 1;  // timers that are armed by one call, if they are to be armed by then

  // Whether it fires in the window if all goes by plan.
  bool fires(const Timer& timer) const { return !timer.is_cancelled && timer.deadline <= end; }

  // The ids of those that fire, by deadline.
  std::vector<std::uint64_t> fires() const;
};

// So many timers a second are armed and are due, at random instants, each half a second to one and a
// half before its deadline: a queue that rounds deadlines or delays is late by any part of what it
// rounds to. Those that are due first are armed before the start.
DurablePlan plan_at_rate(double rate, double seconds, std::uint64_t seed = 1);

// A trace that runs so many times faster, for `seconds`. Throws TraceError and Interrupted.
DurablePlan plan_of_trace(const Trace& trace, double faster, double seconds);

}  // namespace timerbench
