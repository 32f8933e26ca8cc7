// The contract as scenarios: calls for each rule that expose a backend that breaks it.
#pragma once

#include <span>
#include <string_view>

#include "replay/backend.h"

namespace timerbench {

// Every scenario runs under AuditedQueue, so it checks all rules; its name says for which one it
// was made. Throws ContractViolation, or what the backend throws.
struct ContractScenario {
  std::string_view name;
  void (*run)(const Backend&);
};

std::span<const ContractScenario> contract();

}  // namespace timerbench
