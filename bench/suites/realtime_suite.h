// The suites that measure services and durable queues on the wall clock: their scenarios, with sizes
// and the measurement.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "durable/engine.h"
#include "realtime/purgatory_load.h"
#include "realtime/service.h"
#include "suites/cell_failure.h"
#include "suites/realtime_campaign.h"
#include "trace/excerpt.h"
#include "trace/trace.h"

namespace timerbench {

// The user's options for all scenarios of a suite.
struct RealtimeOptions {
  double seconds;  // of measuring, for each cell
  std::uint64_t seed = 1;
};

// Contender: ServiceBackend or DurableContender.
template <class Contender>
struct ScenarioOf {
  std::string name;  // the second part of a cell's name
  std::string summary;
  std::vector<std::uint64_t> sizes;            // the third part; the suite says what a size counts
  std::vector<std::string_view> contenders{};  // the fourth; none: all
  // A contender that was saturated at two sizes is not measured at larger ones.
  std::function<RealtimeFigures(const Contender&, std::uint64_t size, const RealtimeOptions&)>
      measure{};
  // The same without a contender, which measures the machine itself. Some scenarios have none.
  std::function<RealtimeFigures(std::uint64_t size, const RealtimeOptions&)> control{};
};

template <class Contender>
struct RealtimeSuiteOf {
  std::string_view name;
  std::string_view summary;
  std::string_view size_is;  // what a size counts, in plural
  std::uint64_t largest_size;
  std::vector<ScenarioOf<Contender>> scenarios;
  int rounds;
  double seconds;  // the default of RealtimeOptions
  // For suites that replay traces: makes the scenario of a trace; the traces of bench/traces in it.
  std::function<ScenarioOf<Contender>(std::string name, const Trace&)> trace_scenario{};
  std::vector<std::string_view> traces{};
};

using Scenario = ScenarioOf<ServiceBackend>;
using RealtimeSuite = RealtimeSuiteOf<ServiceBackend>;
using DurableLoadScenario = ScenarioOf<DurableContender>;
using DurableSuite = RealtimeSuiteOf<DurableContender>;

RealtimeSuite accuracy_suite();
RealtimeSuite contention_suite();
RealtimeSuite purgatory_suite();
DurableSuite durable_suite();
DurableSuite faults_suite();

// A scenario of the suite `purgatory` with the user's load. REQUIRES: validate(load) does not
// throw.
Scenario purgatory_scenario(const PurgatoryLoad& load);

// All of services, and all of durable queues.
const std::vector<RealtimeSuite>& realtime_suites();
const std::vector<DurableSuite>& durable_suites();

// The backend part of the name of a control's cell.
inline constexpr std::string_view kControl = "control";

// Adds the cells SUITE/SCENARIO/SIZE/CONTENDER for these sizes, for the control, and for those of
// these contenders that the scenario admits.
template <class Contender>
void add_scenario(RealtimeCampaign& campaign, std::string_view suite,
                  const ScenarioOf<Contender>& scenario, const std::vector<std::uint64_t>& sizes,
                  const std::vector<const Contender*>& contenders, const RealtimeOptions& options) {
  const auto name = [&](std::uint64_t size, std::string_view contender) {
    return fmt::format("{}/{}/{}/{}", suite, printable(scenario.name), size, contender);
  };
  // By contender, the sizes that saturated it. A single one may be bad luck.
  auto saturated = std::make_shared<std::vector<std::set<std::uint64_t>>>(contenders.size());
  for (const std::uint64_t size : sizes) {
    if (scenario.control) {
      campaign.add(name(size, kControl),
                   [=, control = scenario.control] { return control(size, options); });
    }
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const Contender& contender = *contenders[i];
      const auto& wanted = scenario.contenders;
      if (!scenario.measure ||
          (!wanted.empty() && std::ranges::find(wanted, contender.traits.name) == wanted.end())) {
        continue;
      }
      campaign.add(name(size, contender.traits.name), [=, &contender, measure = scenario.measure] {
        std::set<std::uint64_t>& sizes = (*saturated)[i];
        if (std::distance(sizes.begin(), sizes.lower_bound(size)) >= 2) {
          throw CellFailure("skipped: saturated at two smaller sizes already");
        }
        RealtimeFigures figures = measure(contender, size, options);
        if (figures.saturated) sizes.insert(size);
        return figures;
      });
    }
  }
}

}  // namespace timerbench
