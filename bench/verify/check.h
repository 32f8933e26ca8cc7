// Check before timing: what a trace must come to, and whether a replay did.
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

// Whether the backend must reach the exact outcome: it is exact, or no instant is rounded.
bool must_be_exact(const Traits& traits, Tick granularity);

// Why the backend breaks the contract on this trace, found by replaying it under audit; nothing if
// it does not. Stops early, with nothing, when `stop` is set. REQUIRES: from its start the clock
// does not come to kNever.
std::optional<TraceViolation> find_violation(const Backend& backend, const Trace& trace,
                                             const Conditions& conditions, const StopFlag& stop);

}  // namespace timerbench
