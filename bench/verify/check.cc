#include "verify/check.h"

#include <utility>

#include "replay/replay.h"
#include "trace/model.h"
#include "trace/op_store.h"
#include "verify/playback.h"

namespace timerbench {

ExpectedOutcome expected_outcome(const Trace& trace, const StopFlag& stop) {
  Model model({.capacity = trace.info().capacity});
  Tick now = 0;
  const auto replay_in_windows = [&](std::span<const Op> ops) {
    Outcome outcome;
    for_each_window(
        ops, [&](std::span<const Op> window) { outcome += replay(model, window, now, stop); });
    return outcome;
  };
  const Outcome setup = replay_in_windows(trace.setup());
  Outcome whole = setup;
  whole += replay_in_windows(trace.measured());
  return {setup, whole};
}

bool must_be_exact(const Traits& traits, Tick granularity) {
  switch (traits.precision) {
    case Precision::exact: return true;
    case Precision::granular:
    case Precision::early: return granularity == 1;
    case Precision::relative:
    case Precision::none: return false;
  }
  return false;
}

Audit audit(const Backend& backend, TimerId capacity, std::span<const Op> ops,
            const Conditions& conditions, const StopFlag& stop) {
  const Backend audited = played_back(backend, capacity, ops, conditions.granularity, stop);
  AuditedQueue queue(
      audited,
      {.capacity = capacity, .start = conditions.start, .granularity = conditions.granularity});
  auto violation = queue.audit(ops, conditions.driver, stop);
  return {std::move(violation), queue.total_fired(), queue.empty_wakeups()};
}

std::optional<TraceViolation> find_violation(const Backend& backend, const Trace& trace,
                                             const Conditions& conditions, const StopFlag& stop) {
  return audit(backend, trace.info().capacity, trace.ops(), conditions, stop).violation;
}

}  // namespace timerbench
