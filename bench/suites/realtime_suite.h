// The suites that measure services on the wall clock: their scenarios, with sizes and the
// measurement.
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

// The user's options for all scenarios of a suite.
struct RealtimeOptions {
  double seconds;  // of measuring, for each cell
  std::uint64_t seed = 1;
};

struct Scenario {
  std::string name;  // the second part of a cell's name
  std::string summary;
  std::vector<std::uint64_t> sizes;          // the third part; the suite says what a size counts
  std::vector<std::string_view> services{};  // the fourth; none: all
  // A service that was saturated at two sizes is not measured at larger ones.
  std::function<RealtimeFigures(const ServiceBackend&, std::uint64_t size, const RealtimeOptions&)>
      measure{};
  // The same without a service, which measures the machine itself. Some scenarios have none.
  std::function<RealtimeFigures(std::uint64_t size, const RealtimeOptions&)> control{};
};

struct RealtimeSuite {
  std::string_view name;
  std::string_view summary;
  std::string_view size_is;  // what a size counts, in plural
  std::uint64_t largest_size;
  std::vector<Scenario> scenarios;
  int rounds;
  double seconds;  // the default of RealtimeOptions
  // For suites that replay traces: makes the scenario of a trace; the traces of bench/traces in it.
  std::function<Scenario(std::string name, const Trace&)> trace_scenario{};
  std::vector<std::string_view> traces{};
};

RealtimeSuite accuracy_suite();
RealtimeSuite contention_suite();
RealtimeSuite purgatory_suite();

// A scenario of the suite `purgatory` with the user's load. REQUIRES: validate(load) does not
// throw.
Scenario purgatory_scenario(const PurgatoryLoad& load);

const std::vector<RealtimeSuite>& realtime_suites();

// The backend part of the name of a control's cell.
inline constexpr std::string_view kControl = "control";

// Adds the cells SUITE/SCENARIO/SIZE/SERVICE for these sizes, for the control, and for those of
// these services that the scenario admits.
void add_scenario(RealtimeCampaign& campaign, std::string_view suite, const Scenario& scenario,
                  const std::vector<std::uint64_t>& sizes,
                  const std::vector<const ServiceBackend*>& services,
                  const RealtimeOptions& options);

}  // namespace timerbench
