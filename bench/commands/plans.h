// Plans the cells of a run from the user's options.
#pragma once

#include <filesystem>
#include <string_view>
#include <variant>

#include "commands/commands.h"
#include "suites/campaign.h"
#include "suites/realtime_campaign.h"
#include "suites/realtime_suite.h"
#include "suites/suite.h"

namespace timerbench {

// The path of a trace of bench/traces.
std::filesystem::path shipped_trace(std::string_view name);

// The suite of any kind that the options name, or own_choice(). Throws UsageError and
// SuiteError.
std::variant<Suite, RealtimeSuite, DurableSuite> choose_suite(const RunOptions& options);

// An empty suite, for runs whose cells the options alone choose.
Suite own_choice();

// The most time that one replay may take.
ReplaySeconds replay_limits(const RunOptions& options, const Suite& suite);

// The backends of --backends if given, else the suite's and the control `null`, else all. Throws
// UsageError.
std::vector<const Backend*> choose_backends(const RunOptions& options, const Suite& suite);

// The suite's cells, or those of them that the options choose. Throw UsageError and TraceError.
Campaign plan_replays(const RunOptions& options, const Suite& suite);
template <class Contender>
RealtimeCampaign plan_realtime(const RunOptions& options, const RealtimeSuiteOf<Contender>& suite);

// The contenders of --backends; all if it is not given. Throw UsageError.
std::vector<const ServiceBackend*> choose_contenders(const RunOptions& options,
                                                     const RealtimeSuite& suite);
std::vector<const DurableContender*> choose_contenders(const RunOptions& options,
                                                       const DurableSuite& suite);

}  // namespace timerbench
