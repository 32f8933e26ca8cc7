// The contract of timer services as scenarios: calls for each rule that expose a service that
// breaks it.
//
// The clock stands still until it is set, so answers do not depend on the load of the machine.
// Races are left to verify/service_audit.h. `timerbench verify` runs both with ids spread over a
// large range (verify/spread_ids.h); what it tells are the ids before that, as in the scenarios.
#pragma once

#include <span>
#include <string_view>

#include "realtime/service.h"

namespace timerbench {

// Throws ContractViolation, or what the service throws. It does not return if the service waits for
// ever or its threads never rest.
struct ServiceScenario {
  std::string_view name;
  void (*run)(const ServiceBackend&);
};

std::span<const ServiceScenario> service_contract();

}  // namespace timerbench
