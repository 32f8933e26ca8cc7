// Verifies a backend: by its scenarios and random traces, or by a trace.
#pragma once

#include <chrono>
#include <cstdint>

#include "replay/backend.h"
#include "system/stop.h"
#include "trace/trace.h"
#include "verify/audited_queue.h"
#include "verify/isolated.h"

namespace timerbench {

// Runs in a child process, so that a backend cannot harm the caller. The verdict has no line if the
// user has interrupted it. Otherwise its line begins with
//   ok           it keeps the contract
//   a control    it promises nothing
//   WRONG        it breaks the contract; the evidence shows how
//   ERROR        it threw, crashed, hung or took all memory
//   UNAVAILABLE  what it needs is missing
Verdict verify(const Backend& backend, std::uint64_t seed,
               std::chrono::duration<double> random_traces, const ShowStage& show);
Verdict verify(const Backend& backend, const Trace& trace, const Conditions& conditions,
               const ShowStage& show);

}  // namespace timerbench
