// Checks before timing: the outcome that a trace must have, and whether a replay had it.
#pragma once

#include <optional>

#include "replay/backend.h"
#include "system/stop.h"
#include "trace/outcome.h"
#include "trace/trace.h"
#include "verify/audited_queue.h"

namespace timerbench {

// The exact outcome, by the model. O(ops log pending).
Outcome expected_outcome(const Trace& trace, const StopFlag& stop);

// Whether the backend must reach the exact outcome: it is exact, or nothing is rounded.
bool must_be_exact(const Traits& traits, Tick granularity);

// Replays the trace under audit, and returns how the backend breaks the contract; nothing if it
// does not. If `stop` is set, ends early with nothing. REQUIRES: the clock does not reach kNever.
std::optional<TraceViolation> find_violation(const Backend& backend, const Trace& trace,
                                             const Conditions& conditions, const StopFlag& stop);

}  // namespace timerbench
