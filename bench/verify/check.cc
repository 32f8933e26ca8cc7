#include "verify/check.h"

#include "replay/replay.h"
#include "trace/model.h"

namespace timerbench {

Outcome expected_outcome(const Trace& trace, const StopFlag& stop) {
  Model model({.capacity = trace.info().capacity});
  Tick now = 0;
  return replay(model, trace.ops(), now, stop);
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

std::optional<TraceViolation> find_violation(const Backend& backend, const Trace& trace,
                                             const Conditions& conditions, const StopFlag& stop) {
  AuditedQueue queue(backend, {.capacity = trace.info().capacity,
                               .start = conditions.start,
                               .granularity = conditions.granularity});
  return queue.audit(trace.ops(), conditions.driver, stop);
}

}  // namespace timerbench
