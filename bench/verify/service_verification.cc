#include "verify/service_verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "system/stop.h"
#include "verify/service_audit.h"
#include "verify/service_contract.h"
#include "verify/spread_ids.h"
#include "verify/system_clock_contract.h"
#include "verify/violation.h"

namespace timerbench {
namespace {

// Every check shows progress within this time, unless the service hangs.
constexpr std::chrono::seconds kLongestSilence{10};
constexpr double kLongestPart = 1;  // seconds of an audit between two signs of progress

// Which scenarios a service with a clock of its own does not run.
std::string left_out() {
  std::vector<std::string_view> names;
  for (const ServiceScenario& scenario : service_contract()) {
    const auto same = std::ranges::find(system_clock_contract(), scenario.name,
                                        [](const ServiceScenario& one) { return one.name; });
    if (same == system_clock_contract().end()) names.push_back(scenario.name);
  }
  return fmt::format(" on the system's clock, without {} that must set it ({})", names.size(),
                     fmt::join(names, ", "));
}

Verdict judge(const ServiceBackend& backend, std::uint64_t seed, double seconds,
              Progress& progress) {
  const ServiceBackend service = with_spread_ids(backend);
  const auto scenarios = service.traits.own_clock ? system_clock_contract() : service_contract();
  for (const ServiceScenario& scenario : scenarios) {
    if (interrupted()) return {};
    progress.begin(scenario.name);
    try {
      scenario.run(service);
    } catch (const ContractViolation& violation) {
      return {false,
              fmt::format("WRONG: {} of bench/verify/{}.cc: {}", scenario.name,
                          service.traits.own_clock ? "system_clock_contract" : "service_contract",
                          violation.what())};
    }
  }
  for (const ServiceAudit& audit : service_audits()) {
    ServiceAuditOptions part{
        .seconds = 0, .seed = seed, .progress = [&progress] { progress.beat(); }};
    for (double left = seconds; left > 0; left -= part.seconds, ++part.seed) {
      progress.begin(fmt::format("audit {}", audit.name));
      part.seconds = std::min(left, kLongestPart);
      const auto violation = audit.run(service, part, interrupted());
      if (violation) return {false, fmt::format("WRONG: audit {}: {}", audit.name, *violation)};
      if (interrupted()) return {};
    }
  }
  return {true, fmt::format("ok: {} scenarios{}, {} audits of {:g} s", scenarios.size(),
                            service.traits.own_clock ? left_out() : "", service_audits().size(),
                            seconds)};
}

}  // namespace

Verdict verify(const ServiceBackend& service, std::uint64_t seed, double seconds,
               const ShowStage& show) {
  return judge_isolated([&](Progress& progress) { return judge(service, seed, seconds, progress); },
                        show, kLongestSilence);
}

}  // namespace timerbench
