// How GoogleTest prints a backend: by its name.
#pragma once

#include <ostream>

#include "replay/backend.h"
#include "verify/contract.h"

namespace timerbench {

inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.traits.name; }
inline void PrintTo(const ContractScenario& scenario, std::ostream* out) { *out << scenario.name; }

}  // namespace timerbench
