#include "durable/plan.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "realtime/paced.h"

namespace timerbench {

std::vector<std::uint64_t> DurablePlan::fires() const {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 0; id < timers.size(); ++id) {
    if (fires(timers[id])) ids.push_back(id);
  }
  std::ranges::stable_sort(ids, {}, [&](std::uint64_t id) { return timers[id].deadline; });
  return ids;
}

DurablePlan plan_at_rate(double rate, double seconds, std::uint64_t seed) {
  constexpr std::int64_t kLeastAhead = 500'000'000, kMostAhead = 1'500'000'000;
  constexpr std::int64_t kTogether = 5'000'000;  // those of 5 ms are armed at once
  const auto end = static_cast<std::int64_t>(seconds * 1e9);
  struct Arming {
    std::int64_t at, deadline;
  };
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  };
  // As many as there would be up to the last deadline that the last arming may have.
  const auto longest = static_cast<double>(end + kMostAhead);
  std::vector<Arming> armings(static_cast<std::size_t>(rate * longest / 1e9));
  for (Arming& arming : armings) {
    arming.deadline = below(end + kMostAhead);
    arming.at = arming.deadline - kLeastAhead - below(kMostAhead - kLeastAhead);
  }
  std::ranges::sort(armings, {}, &Arming::at);
  DurablePlan plan{.end = static_cast<Tick>(end), .together = 1000};
  for (const auto& [at, deadline] : armings) {
    if (at >= end) break;
    const std::uint64_t timer = plan.timers.size();
    plan.timers.push_back({static_cast<Tick>(deadline)});
    if (at < 0) {
      ++plan.before;
    } else {
      plan.ops.push_back({static_cast<Tick>(at / kTogether * kTogether), timer, /*cancels=*/false});
    }
  }
  return plan;
}

DurablePlan plan_of_trace(const Trace& trace, double faster, double seconds) {
  TraceInfo info = trace.info();
  info.unit_ns /= faster;
  const PacedPlan paced(Trace(info, std::vector<Op>(trace.ops().begin(), trace.ops().end())),
                        seconds);
  DurablePlan plan{.before = paced.before().size(), .end = paced.end()};
  // A trace has an id for each object, and a plan one for each arming.
  std::vector<std::uint64_t> ids(paced.capacity());
  const auto arm = [&](TimerId object, Tick deadline) {
    ids[object] = plan.timers.size();
    plan.timers.push_back({deadline});
    return ids[object];
  };
  for (const PendingTimer& timer : paced.before()) arm(timer.id, timer.deadline);
  Tick ticks = 0;
  for (const Op op : paced.ops()) {
    if (op.id == kAdvance) {
      ticks += op.arg;
      continue;
    }
    const Tick now = paced.instant(ticks);
    if (op.arg != kCancel) {
      plan.ops.push_back({now, arm(op.id, paced.instant(ticks + op.arg)), /*cancels=*/false});
    } else if (DurablePlan::Timer& timer = plan.timers[ids[op.id]]; timer.deadline > now) {
      timer.is_cancelled = true;
      plan.ops.push_back({now, ids[op.id], /*cancels=*/true});
    }
  }
  return plan;
}

}  // namespace timerbench
