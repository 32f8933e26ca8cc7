// Verifies a durable timer queue on a private engine: its scenarios (verify/durable_contract.h),
// random calls against a model (verify/durable_differential.h), and its audits
// (verify/durable_audit.h).
#pragma once

#include <cstdint>

#include "durable/engine.h"
#include "verify/isolated.h"

namespace timerbench {

// Runs in a child process; the verdicts are those of verify/verification.h. Random calls take
// `seconds`, and the audits some seconds more.
Verdict verify(const DurableContender& contender, std::uint64_t seed, double seconds,
               const ShowStage& show);

}  // namespace timerbench
