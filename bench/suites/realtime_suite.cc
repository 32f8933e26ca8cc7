#include "suites/realtime_suite.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include "trace/excerpt.h"

namespace timerbench {

const std::vector<RealtimeSuite>& realtime_suites() {
  static const std::vector<RealtimeSuite> all = {accuracy_suite(), contention_suite(),
                                                 purgatory_suite()};
  return all;
}

void add_scenario(RealtimeCampaign& campaign, std::string_view suite, const Scenario& scenario,
                  const std::vector<std::uint64_t>& sizes,
                  const std::vector<const ServiceBackend*>& services,
                  const RealtimeOptions& options) {
  const auto name = [&](std::uint64_t size, std::string_view service) {
    return fmt::format("{}/{}/{}/{}", suite, printable(scenario.name), size, service);
  };
  // By service, the sizes that saturated it. A single one may be bad luck.
  auto saturated = std::make_shared<std::vector<std::set<std::uint64_t>>>(services.size());
  for (const std::uint64_t size : sizes) {
    if (scenario.control) {
      campaign.add(name(size, kControl),
                   [=, control = scenario.control] { return control(size, options); });
    }
    for (std::size_t i = 0; i < services.size(); ++i) {
      const ServiceBackend& service = *services[i];
      const auto& wanted = scenario.services;
      if (!scenario.measure ||
          (!wanted.empty() && std::ranges::find(wanted, service.traits.name) == wanted.end())) {
        continue;
      }
      campaign.add(name(size, service.traits.name), [=, &service, measure = scenario.measure] {
        std::set<std::uint64_t>& sizes = (*saturated)[i];
        if (std::distance(sizes.begin(), sizes.lower_bound(size)) >= 2) {
          throw CellFailure("skipped: saturated at two smaller sizes already");
        }
        RealtimeFigures figures = measure(service, size, options);
        if (figures.saturated) sizes.insert(size);
        return figures;
      });
    }
  }
}

}  // namespace timerbench
