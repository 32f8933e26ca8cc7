// Verifies a timer service: its scenarios (verify/service_contract.h, or
// verify/system_clock_contract.h), then its audits (verify/service_audit.h).
#pragma once

#include <cstdint>

#include "realtime/service.h"
#include "verify/isolated.h"

namespace timerbench {

// Runs in a child process; the verdicts are those of verify/verification.h. Each of the five audits
// takes `seconds`, and a second more.
Verdict verify(const ServiceBackend& service, std::uint64_t seed, double seconds,
               const ShowStage& show);

}  // namespace timerbench
