// Whether a backend keeps the contract: its scenarios and random traces, or a trace.
#pragma once

#include <chrono>
#include <cstdint>

#include "replay/backend.h"
#include "system/stop.h"
#include "trace/trace.h"
#include "verify/audited_queue.h"
#include "verify/isolated.h"

namespace timerbench {

// In a process of its own, so that whoever asks goes on whatever the backend does. A verdict without
// a line is that of who was interrupted; its first word otherwise is one of
//   ok           it keeps the contract
//   a control    it promises nothing
//   WRONG        it breaks the contract; the evidence shows how
//   ERROR        it threw, crashed, hung or took all memory
//   UNAVAILABLE  what it needs is not there
Verdict verify(const Backend& backend, std::uint64_t seed,
               std::chrono::duration<double> random_traces, const ShowStage& show);
Verdict verify(const Backend& backend, const Trace& trace, const Conditions& conditions,
               const ShowStage& show);

}  // namespace timerbench
