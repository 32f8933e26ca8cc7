#include "verify/service_verification.h"

#include <fmt/format.h>

#include <algorithm>

#include "verify/service_contract.h"
#include "verify/violation.h"

namespace timerbench {
namespace {

constexpr double kLongestPart = 2;  // seconds of an audit, after which whoever watches is told

}  // namespace

std::optional<std::string> find_violation(const ServiceBackend& service,
                                          const ServiceAuditOptions& options,
                                          const std::function<void(std::string_view)>& begin,
                                          const StopFlag& stop) {
  for (const ServiceScenario& scenario : service_contract()) {
    if (stop) return std::nullopt;
    begin(scenario.name);
    try {
      scenario.run(service);
    } catch (const ContractViolation& violation) {
      return fmt::format("{} of bench/verify/service_contract.cc: {}", scenario.name,
                         violation.what());
    }
  }
  for (const ServiceAudit& audit : service_audits()) {
    ServiceAuditOptions part = options;
    for (double left = options.seconds; left > 0; left -= part.seconds, ++part.seed) {
      if (stop) return std::nullopt;
      begin(audit.name);
      part.seconds = std::min(left, kLongestPart);
      if (const auto violation = audit.run(service, part, stop)) {
        return fmt::format("audit {}: {}", audit.name, *violation);
      }
    }
  }
  return std::nullopt;
}

}  // namespace timerbench
