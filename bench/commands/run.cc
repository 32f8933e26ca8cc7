// timerbench run: a suite, or a choice of one's own, measured.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "commands/benchmark_flags.h"
#include "commands/command.h"
#include "commands/names.h"
#include "suites/campaign.h"
#include "suites/reporter.h"
#include "suites/suite.h"
#include "system/machine.h"
#include "system/stop.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::string suite;
  std::string backends;
  std::string workloads;
  std::string sizes;
  std::string traces;
  Tick granularity = 1;
  std::uint64_t items = 0;
  std::uint64_t seed = 1;
  double replay_seconds = 0;
};

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
          .items = 0,
          .remote_items = 10'000,
          .repetitions = 3,
          .min_seconds = 0.05,
          .replay_seconds = 60};
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
  Campaign campaign(std::string(suite.name), options.granularity,
                    options.replay_seconds > 0 ? options.replay_seconds : suite.replay_seconds);
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
        add(Input::Reach::local, suite.items);
        add(Input::Reach::remote, suite.remote_items);
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

void run(const RunOptions& options, std::vector<std::string> flags) {
  const Suite suite = options.suite.empty() ? own_choice() : find_suite(options.suite);
  const auto chosen = find_backends(split(options.backends));
  Campaign campaign = plan(options, suite);

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
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  auto* command = app.add_subcommand(
      "run", "Measure a suite, or backends, workloads and traces of your choice");
  command->footer(
      "Google Benchmark's own flags are understood too, such as\n"
      "  --benchmark_out=FILE.json        write the results, complete or not at all\n"
      "  --benchmark_repetitions=N        of each cell, for the spread\n"
      "  --benchmark_min_time=SECONDS     measured in each repetition\n"
      "  --benchmark_filter=REGEX         cells by name, SUITE/WORKLOAD/SIZE/BACKEND\n"
      "  --benchmark_list_tests           name the cells and run none\n"
      "  --benchmark_format=json          on standard output");
  command->allow_extras();
  command->add_option("--suite", options->suite,
                      "One of 'timerbench list'; the options below narrow it");
  command->add_option("--backends", options->backends, "Comma-separated backends or families");
  command->add_option("--workloads", options->workloads, "Comma-separated workloads");
  command->add_option("--sizes", options->sizes, "Comma-separated populations: 1000,10k,1e6");
  command->add_option("--trace", options->traces, "Comma-separated trace files");
  add_granularity_option(*command, options->granularity);
  add_items_option(*command, options->items,
                   "Operations measured where the workload leaves it free; 0: the suite's");
  add_seed_option(*command, options->seed, "Of the workloads");
  command
      ->add_option(
          "--replay-seconds", options->replay_seconds,
          "The most that one replay may take, setup included, before its cell is a timeout; "
          "0: the suite's")
      ->check(seconds_range());
  command->callback([options, command] { run(*options, command->remaining()); });
}

}  // namespace timerbench
