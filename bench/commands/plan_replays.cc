// Plans the cells of a suite of replays: all of them, or those that the options choose.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "commands/errors.h"
#include "commands/names.h"
#include "commands/plans.h"
#include "process/process_peer.h"
#include "suites/trace_cache.h"
#include "system/program.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;

void add_workload(Campaign& campaign, const SuiteWorkload& chosen, Input::Reach reach,
                  const WorkloadOptions& options, const TraceCache& cache) {
  campaign.add_input(Input(chosen.name, options.size, reach, bytes_needed(options), /*seeded=*/true,
                           [workload = chosen.workload, options, cache](std::size_t variant) {
                             WorkloadOptions own = options;
                             own.seed += variant;
                             return cache.get(*workload, own);
                           }));
}

// The workloads that --workloads names, with the suite's parameters where the suite has them.
// Without names, all of the suite's, unless --trace is given.
std::vector<SuiteWorkload> choose_workloads(const RunOptions& options, const Suite& suite) {
  const std::vector<std::string> names = split(options.workloads);
  if (names.empty() && options.traces.empty()) return suite.workloads;
  std::vector<SuiteWorkload> chosen;
  for (const std::string& name : names) {
    const auto own = std::ranges::find(suite.workloads, name, &SuiteWorkload::name);
    chosen.push_back(own != suite.workloads.end()
                         ? *own
                         : SuiteWorkload{.name = name, .workload = &find_workload(name)});
  }
  return chosen;
}

std::set<TimerId> parse_sizes(const std::string& list) {
  std::set<TimerId> sizes;
  for (const std::string& size : split(list)) sizes.insert(parse_size(size));
  return sizes;
}

void add_trace_file(Campaign& campaign, const fs::path& path) {
  Trace trace = load_trace(path.string());  // now, to find a bad file before the run
  if (trace.info().items == 0) {
    throw TraceError(
        fmt::format("{}: nothing to measure: no timer is armed or cancelled after its "
                    "set-up",
                    path.string()));
  }
  const std::string name = path.filename().replace_extension().string();
  campaign.add_input(Input(name, trace.info().peak_pending, Input::Reach::both, 0, /*seeded=*/false,
                           [trace](std::size_t) { return trace; }));
}

}  // namespace

fs::path shipped_trace(std::string_view name) {
  return installed_or("bench/traces", TIMERBENCH_TRACES) / name;
}

std::variant<Suite, RealtimeSuite, DurableSuite> choose_suite(const RunOptions& options) {
  if (options.suite.empty()) return own_choice();
  const auto realtime = std::ranges::find(realtime_suites(), options.suite, &RealtimeSuite::name);
  if (realtime != realtime_suites().end()) return *realtime;
  for (const DurableSuite& suite : durable_suites()) {
    if (suite.name == options.suite) return suite;
  }
  if (auto suite = find_suite(options.suite)) return *std::move(suite);
  std::vector<std::string> names;
  for (const auto& file : suite_files()) names.push_back(file.stem().string());
  for (const RealtimeSuite& suite : realtime_suites()) names.emplace_back(suite.name);
  for (const DurableSuite& suite : durable_suites()) names.emplace_back(suite.name);
  throw UsageError(unknown("suite", options.suite, {names.begin(), names.end()}));
}

Suite own_choice() {
  return {.name = "own",
          .summary = "",
          .workloads = {},
          .sizes = {},
          .traces = {},
          .local = {.items = 0, .replay_seconds = 60},
          .remote = {.items = 10'000, .replay_seconds = 60},
          .rounds = 3,
          .min_seconds = 0.05};
}

ReplaySeconds replay_limits(const RunOptions& options, const Suite& suite) {
  return options.replay_seconds > 0
             ? ReplaySeconds{options.replay_seconds, options.replay_seconds}
             : ReplaySeconds{suite.local.replay_seconds, suite.remote.replay_seconds};
}

std::vector<const Backend*> choose_backends(const RunOptions& options, const Suite& suite) {
  std::vector<std::string> names = split(options.backends);
  if (names.empty() && !suite.backends.empty()) {
    names = suite.backends;
    names.emplace_back("null");
  }
  std::vector<const Backend*> chosen = find_backends(names);
  for (const Backend& backend : backends()) {
    const bool is_given =
        backend.process && std::ranges::count(options.processes, backend.process->command()) > 0;
    if (is_given && std::ranges::count(chosen, &backend) == 0) chosen.push_back(&backend);
  }
  return chosen;
}

Campaign plan_replays(const RunOptions& options, const Suite& suite) {
  if (options.seconds > 0 || options.purgatory.any()) {
    throw UsageError(
        "--seconds and the options of requests, as --rate, are for suites on the wall clock; see "
        "'timerbench list'");
  }
  Campaign campaign(suite.name, options.granularity, replay_limits(options, suite));
  campaign.slow_down(options.slow_down);
  campaign.keep_audits(AuditCache(options.cache));
  const std::vector<SuiteWorkload> chosen = choose_workloads(options, suite);
  const std::set<TimerId> own_sizes = parse_sizes(options.sizes);
  const Settings own_settings = parse_settings(options.settings);

  for (const SuiteWorkload& one : chosen) {
    Settings settings = one.settings;
    settings.insert(settings.end(), own_settings.begin(), own_settings.end());
    one.workload->check(settings);
    // In ascending order: after a timeout, larger sizes are skipped.
    std::set<TimerId> sizes = own_sizes;
    if (sizes.empty()) {
      const std::vector<TimerId>& suite_sizes = one.sizes.empty() ? suite.sizes : one.sizes;
      sizes.insert(suite_sizes.begin(), suite_sizes.end());
    }
    if (sizes.empty()) sizes = {one.workload->default_size};
    for (const TimerId size : sizes) {
      const auto add = [&](Input::Reach reach, std::uint64_t items) {
        add_workload(campaign, one, reach,
                     {.size = size, .items = items, .seed = options.seed, .settings = settings},
                     TraceCache(options.cache));
      };
      if (options.items > 0 || !one.workload->items_are_free) {
        add(Input::Reach::both, options.items);
      } else {
        add(Input::Reach::local, suite.local.items);
        add(Input::Reach::remote, suite.remote.items);
      }
    }
  }
  if (chosen.empty() && !options.sizes.empty()) {
    throw UsageError("--sizes is for workloads, a trace has its own; name some by --workloads");
  }
  for (const std::string& path : split(options.traces)) add_trace_file(campaign, path);
  if (options.traces.empty() && options.workloads.empty()) {
    for (const std::string& name : suite.traces) add_trace_file(campaign, shipped_trace(name));
  }
  if (campaign.inputs().empty()) {
    throw UsageError(
        "nothing to run: give --suite, --workloads or --trace; see 'timerbench run --help'");
  }
  return campaign;
}

}  // namespace timerbench
