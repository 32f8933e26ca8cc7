// Checks before timing: the outcome that a trace must have, and whether a replay had it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "replay/backend.h"
#include "system/stop.h"
#include "trace/outcome.h"
#include "trace/trace.h"
#include "verify/audited_queue.h"

namespace timerbench {

// The exact outcomes, by the model. O(ops log pending).
struct ExpectedOutcome {
  Outcome setup;  // at its end
  Outcome whole;  // setup included
};
ExpectedOutcome expected_outcome(const Trace& trace, const StopFlag& stop);

// Whether the backend must reach the exact outcome: it is exact, or nothing is rounded.
bool must_be_exact(const Traits& traits, Tick granularity);

struct Audit {
  std::optional<TraceViolation> violation{};
  std::uint64_t fired = 0;
  std::uint64_t empty_wakeups = 0;
};

// Replays the operations under audit. Of another program, audits the fires that it wrote. If `stop` is
// set, ends early without a violation. Throws what the backend throws, and ProgramFailure.
// REQUIRES: the clock does not reach kNever; another program begins at 0, and does not sleep.
Audit audit(const Backend& backend, TimerId capacity, std::span<const Op> ops,
            const Conditions& conditions, const StopFlag& stop);

// Replays the trace under audit, and returns how the backend breaks the contract; nothing if it
// does not. Otherwise like audit().
std::optional<TraceViolation> find_violation(const Backend& backend, const Trace& trace,
                                             const Conditions& conditions, const StopFlag& stop);

}  // namespace timerbench
