// The suites that measure services on the wall clock: scenarios, the sizes at which each is run, and
// how one is measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realtime/purgatory_load.h"
#include "realtime/service.h"
#include "suites/realtime_campaign.h"
#include "trace/trace.h"

namespace timerbench {

// What a user may choose for all scenarios of a suite.
struct RealtimeOptions {
  double seconds;  // for which each cell is measured
  std::uint64_t seed = 1;
};

struct Scenario {
  std::string name;  // the second part of a cell's name
  std::string summary;
  std::vector<std::uint64_t> sizes;          // the third part: of what, the suite says
  std::vector<std::string_view> services{};  // the fourth; none: all
  // A service that was saturated at two sizes is not measured at larger ones.
  std::function<RealtimeFigures(const ServiceBackend&, std::uint64_t size, const RealtimeOptions&)>
      measure{};
  // The same without a service: what the machine itself does. Not of all scenarios.
  std::function<RealtimeFigures(std::uint64_t size, const RealtimeOptions&)> control{};
};

struct RealtimeSuite {
  std::string_view name;
  std::string_view summary;
  std::string_view size_is;  // what a size counts, in plural
  std::uint64_t largest_size;
  std::vector<Scenario> scenarios;
  int rounds;
  double seconds;  // RealtimeOptions'
  // Of suites that replay traces: the scenario of one, and those of bench/traces that it includes.
  std::function<Scenario(std::string name, const Trace&)> trace_scenario{};
  std::vector<std::string_view> traces{};
};

RealtimeSuite accuracy_suite();
RealtimeSuite contention_suite();
RealtimeSuite purgatory_suite();

// Of the suite `purgatory`, with a load of the user's. REQUIRES: validate(load) does not throw.
Scenario purgatory_scenario(const PurgatoryLoad& load);

const std::vector<RealtimeSuite>& realtime_suites();

// The backend in the name of a scenario's control.
inline constexpr std::string_view kControl = "control";

// Adds SUITE/SCENARIO/SIZE/SERVICE for all sizes of the scenario, or those given, and those of the
// services that it is for.
void add_scenario(RealtimeCampaign& campaign, std::string_view suite, const Scenario& scenario,
                  const std::vector<std::uint64_t>& sizes,
                  const std::vector<const ServiceBackend*>& services,
                  const RealtimeOptions& options);

}  // namespace timerbench
