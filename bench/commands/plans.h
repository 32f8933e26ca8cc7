// From what the user asks for to the cells of a run.
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

// A trace of bench/traces.
std::filesystem::path shipped_trace(std::string_view name);

// The suite that the options name, of either kind; own_choice() if they name none. Throws UsageError,
// SuiteError.
std::variant<Suite, RealtimeSuite> choose_suite(const RunOptions& options);

// What is measured when no suite is named: nothing but what the options choose.
Suite own_choice();

// How long a replay may take.
ReplaySeconds replay_limits(const RunOptions& options, const Suite& suite);

// Those of --backends if there are any, else the suite's with the control `null`, else all. Throws
// UsageError.
std::vector<const Backend*> choose_backends(const RunOptions& options, const Suite& suite);

// The suite's cells, or of them what the options choose. Throw UsageError, TraceError.
Campaign plan_replays(const RunOptions& options, const Suite& suite);
RealtimeCampaign plan_realtime(const RunOptions& options, const RealtimeSuite& suite);

}  // namespace timerbench
