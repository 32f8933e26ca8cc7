// From what the user asks for to the cells of a run.
#pragma once

#include <filesystem>
#include <string_view>

#include "commands/commands.h"
#include "suites/campaign.h"
#include "suites/realtime_campaign.h"
#include "suites/realtime_suite.h"
#include "suites/suite.h"

namespace timerbench {

// A trace of bench/traces.
std::filesystem::path shipped_trace(std::string_view name);

// What is measured when no suite is named: nothing but what the options choose.
Suite own_choice();

// The suite's cells, or of them what the options choose. Throw UsageError, TraceError.
Campaign plan_replays(const RunOptions& options, const Suite& suite);
RealtimeCampaign plan_realtime(const RunOptions& options, const RealtimeSuite& suite);

}  // namespace timerbench
