// The contract as scenarios: for each rule the calls that expose who breaks it.
#pragma once

#include <span>
#include <string_view>

#include "replay/backend.h"

namespace timerbench {

// Every scenario runs under AuditedQueue, so each checks all the rules; its name says which one it
// was made for. Throws ContractViolation, or whatever the backend throws.
struct ContractScenario {
  std::string_view name;
  void (*run)(const Backend&);
};

std::span<const ContractScenario> contract();

}  // namespace timerbench
