// Whether a timer service keeps its contract: all scenarios, then all audits.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "realtime/service.h"
#include "system/stop.h"
#include "verify/service_audit.h"

namespace timerbench {

// The first violation, with the check that found it; nothing if there is none, or if the flag is
// set meanwhile. Calls begin(name) before each check, and again every few seconds: one that takes
// ten seconds hangs. A service may do that, or end the process, so this is for a process of its own.
// Each audit takes options.seconds and a second. Passes on what the service throws.
std::optional<std::string> find_violation(const ServiceBackend& service,
                                          const ServiceAuditOptions& options,
                                          const std::function<void(std::string_view)>& begin,
                                          const StopFlag& stop);

}  // namespace timerbench
