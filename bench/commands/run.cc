// timerbench run: a suite, or a choice of one's own, measured.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "commands/benchmark_flags.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/names.h"
#include "suites/campaign.h"
#include "suites/reporter.h"
#include "suites/suite.h"
#include "system/machine.h"
#include "system/stop.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;

const Suite& find_suite(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Suite& suite : suites()) {
    if (suite.name == name) return suite;
    known.push_back(suite.name);
  }
  throw UsageError(unknown("suite", name, known));
}

// What is measured when no suite is named.
Suite own_choice() {
  return {.name = "own",
          .summary = "",
          .workloads = {},
          .sizes = {},
          .traces = {},
          .local = {.items = 0, .replay_seconds = 60},
          .remote = {.items = 10'000, .replay_seconds = 60},
          .repetitions = 3,
          .min_seconds = 0.05};
}

fs::path shipped_trace(std::string_view name) { return fs::path(TIMERBENCH_TRACES) / name; }

void add_workload(Campaign& campaign, const Workload& workload, Input::Reach reach,
                  const WorkloadOptions& options) {
  campaign.add_input(Input(std::string(workload.name), options.size, reach, bytes_needed(options),
                           /*seeded=*/true, [&workload, options](std::size_t variant) {
                             WorkloadOptions own = options;
                             own.seed += variant;
                             return workload.generate(own);
                           }));
}

void add_trace_file(Campaign& campaign, const fs::path& path) {
  Trace trace = load_trace(path.string());  // now: a bad file is found before the run
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

void add_context(const Suite& suite, const RunOptions& options) {
  benchmark::AddCustomContext("suite", std::string(suite.name));
  benchmark::AddCustomContext("granularity", std::to_string(options.granularity));
  benchmark::AddCustomContext("seed", std::to_string(options.seed));
  for (const auto& [key, value] : machine_facts()) benchmark::AddCustomContext(key, value);
}

// What is to be measured: the suite's, or of it what the options choose.
Campaign plan(const RunOptions& options, const Suite& suite) {
  const ReplaySeconds replay_seconds =
      options.replay_seconds > 0
          ? ReplaySeconds{options.replay_seconds}
          : ReplaySeconds{suite.local.replay_seconds, suite.remote.replay_seconds};
  Campaign campaign(std::string(suite.name), options.granularity, replay_seconds);
  std::vector<std::string> names = split(options.workloads);
  if (names.empty() && options.traces.empty()) {
    names.assign(suite.workloads.begin(), suite.workloads.end());
  }
  std::vector<TimerId> sizes;
  for (const std::string& size : split(options.sizes)) sizes.push_back(parse_size(size));
  if (sizes.empty()) sizes = suite.sizes;
  std::ranges::sort(sizes);  // a time-out rules out the larger ones

  for (const std::string& name : names) {
    const Workload& workload = find_workload(name);
    for (const TimerId size : sizes.empty() ? std::vector{workload.default_size} : sizes) {
      const auto add = [&](Input::Reach reach, std::uint64_t items) {
        add_workload(campaign, workload, reach,
                     {.size = size, .items = items, .seed = options.seed});
      };
      if (options.items > 0 || !workload.items_are_free) {
        add(Input::Reach::both, options.items);
      } else {
        add(Input::Reach::local, suite.local.items);
        add(Input::Reach::remote, suite.remote.items);
      }
    }
  }
  if (names.empty() && !options.sizes.empty()) {
    throw UsageError("--sizes is for workloads, a trace has its own; name some by --workloads");
  }
  for (const std::string& path : split(options.traces)) add_trace_file(campaign, path);
  if (options.traces.empty() && options.workloads.empty()) {
    for (const std::string_view name : suite.traces) add_trace_file(campaign, shipped_trace(name));
  }
  if (campaign.inputs() == 0) {
    throw UsageError(
        "nothing to run: give --suite, --workloads or --trace; see 'timerbench run --help'");
  }
  return campaign;
}

}  // namespace

void run_suite(const RunOptions& options) {
  const Suite suite = options.suite.empty() ? own_choice() : find_suite(options.suite);
  const auto chosen = find_backends(split(options.backends));
  Campaign campaign = plan(options, suite);

  std::vector<std::string> flags = options.benchmark_flags;
  check_benchmark_flags(flags);
  // The suite's settings come first, so that flags on the command line override them.
  flags.insert(flags.begin(), {fmt::format("--benchmark_repetitions={}", suite.repetitions),
                               fmt::format("--benchmark_min_time={}", suite.min_seconds)});
  const ResultFile results(flags);
  const bool only_list = any_begins(flags, "--benchmark_list_tests") &&
                         !any_begins(flags, "--benchmark_list_tests=false");
  const bool own_report = !only_list && !any_begins(flags, "--benchmark_format");
  add_context(suite, options);
  initialize_benchmark(flags);
  campaign.register_cells(chosen);

#ifndef NDEBUG
  if (own_report) fmt::print("Warning: not an optimised build; use the preset release\n");
#endif
  CellReporter reporter(campaign.cells());
  const auto chosen_cells = benchmark::RunSpecifiedBenchmarks(own_report ? &reporter : nullptr);
  benchmark::Shutdown();
  if (only_list) return;
  if (chosen_cells == 0) {
    throw CommandFailed{kUsage};  // Google Benchmark has said so
  }
  results.keep();
  const auto counts = campaign.counts();
  if (own_report) {
    fmt::print("{}{} cells measured, {} failed, {} without a figure{}\n",
               interrupted() ? "interrupted: " : "", counts.measured, counts.failed, counts.without,
               results.path().empty() ? "" : "; results in " + results.path());
  }
  if (interrupted() || counts.failed > 0) throw CommandFailed();
  if (counts.measured == 0) throw std::runtime_error("nothing was measured; each cell says why");
}

}  // namespace timerbench
