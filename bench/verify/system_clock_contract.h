// The contract of timer services as scenarios for a service that sleeps by the system's clock,
// which no test can set: each of the same name as one of verify/service_contract.h.
//
// Delays are short and real. So a scenario asks only what holds however busy the machine is: that
// timers fire, within five seconds and not before their deadline; and what is pending, of timers an
// hour away. How late they fire is measured, not verified. Scenarios that need a clock at its end,
// or a call at the moment in which the service falls asleep, have no counterpart here; the audit
// `wakeup` looks for the latter.
#pragma once

#include <span>

#include "verify/service_contract.h"

namespace timerbench {

std::span<const ServiceScenario> system_clock_contract();

}  // namespace timerbench
