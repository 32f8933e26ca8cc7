// Whether a timer service keeps its contract: its scenarios (verify/service_contract.h), then its
// audits (verify/service_audit.h).
#pragma once

#include <cstdint>

#include "realtime/service.h"
#include "verify/isolated.h"

namespace timerbench {

// In a process of its own; the verdict is one of verify/verification.h. Each of the five audits takes
// so many seconds, and a second more.
Verdict verify(const ServiceBackend& service, std::uint64_t seed, double seconds,
               const ShowStage& show);

}  // namespace timerbench
