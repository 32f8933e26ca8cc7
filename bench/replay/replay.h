// The virtual-time loop: a queue replays a trace as fast as it can.
#pragma once

#include <algorithm>
#include <span>

#include "core/timer_queue.h"
#include "system/stop.h"
#include "trace/op.h"
#include "trace/outcome.h"

namespace timerbench {

// Replays `ops` from `clock` on, and moves `clock`. Returns the outcome up to the end or, if `stop`
// is set meanwhile, up to the next advance(). REQUIRES: every id is below the queue's capacity.
//
// Releases no page of `ops`: some hypervisors then forget the pages of the queue as well, and what
// is timed pays for each of them again.
template <class Queue>
Outcome replay(Queue& queue, std::span<const Op> ops, Tick& clock, const StopFlag& stop) {
  // Operations between two checks of the flag, if no advance() comes before.
  constexpr std::size_t kBlock = 4096;
  Outcome outcome;
  // Copies, so that they stay in registers: no pointer of the queue can point to them.
  Tick now = clock;
  std::uint64_t cancelled = 0;
  while (!ops.empty() && !stop.load(std::memory_order_relaxed)) {
    const auto block = ops.first(std::min(kBlock, ops.size()));
    ops = ops.subspan(block.size());
    for (const Op op : block) {
      if (op.id == kAdvance) {
        if (stop.load(std::memory_order_relaxed)) break;
        now += op.arg;
        outcome.fired += queue.advance(now, DigestFires(outcome, now));
      } else if (op.arg == kCancel) {
        cancelled += queue.cancel(op.id);
      } else {
        queue.schedule(op.id, now + op.arg);
      }
    }
  }
  clock = now;
  outcome.cancelled = cancelled;
  outcome.pending = queue.size();
  return outcome;
}

}  // namespace timerbench
