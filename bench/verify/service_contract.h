// The contract of timer services as scenarios: for each rule the calls that expose who breaks it.
//
// They run under a clock that stands still until it is set, so no answer depends on how busy the
// machine is. What only shows when threads race is for verify/service_audit.h.
#pragma once

#include <span>
#include <string_view>

#include "realtime/service.h"

namespace timerbench {

// Throws ContractViolation, or whatever the service throws. With a service that waits for what
// never comes, or whose threads never rest, it does not return.
struct ServiceScenario {
  std::string_view name;
  void (*run)(const ServiceBackend&);
};

std::span<const ServiceScenario> service_contract();

}  // namespace timerbench
