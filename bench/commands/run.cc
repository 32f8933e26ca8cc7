// timerbench run: a suite, or a choice of one's own, measured.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/command.h"
#include "commands/names.h"
#include "replay/stop.h"
#include "suites/campaign.h"
#include "suites/machine.h"
#include "suites/reporter.h"
#include "suites/suite.h"

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

const std::string kOutFlag = "--benchmark_out=";

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
          .repetitions = 3,
          .min_seconds = 0.05,
          .replay_seconds = 60};
}

// Makes the trace of a workload, unless the machine has no room for it, the model and a queue.
Trace generate(const Workload& workload, const WorkloadOptions& options) {
  constexpr std::uint64_t kBytesATimer = 200;
  constexpr std::uint64_t kBytesAnItem = 3 * sizeof(Op);
  const std::uint64_t needed = options.size * kBytesATimer + options.items * kBytesAnItem;
  if (needed > available_memory()) throw std::bad_alloc();
  return workload.generate(options);
}

fs::path shipped_trace(std::string_view name) { return fs::path(TIMERBENCH_TRACES) / name; }

void add_workload(Campaign& campaign, const Workload& workload, const WorkloadOptions& options) {
  campaign.add_input(Input(std::string(workload.name), options.size,
                           [&workload, options] { return generate(workload, options); }));
}

void add_trace_file(Campaign& campaign, const fs::path& path) {
  auto trace = std::make_shared<Trace>(Trace::load(path));  // now: a bad file is found before the run
  const std::string name = path.filename().replace_extension().string();
  campaign.add_input(Input(name, trace->info().peak_pending, [trace] { return *trace; }));
}

// The file that --benchmark_out names, or nothing. Google Benchmark writes it as it goes: it is given
// another name until it is complete.
std::string take_out_file(std::vector<std::string>& flags) {
  std::string path;
  std::erase_if(flags, [&](const std::string& flag) {
    if (!flag.starts_with(kOutFlag)) return false;
    path = flag.substr(kOutFlag.size());
    return true;
  });
  return path;
}

void check_writable(const std::string& path) {
  if (!std::ofstream(path, std::ios::app)) {
    throw UsageError(fmt::format("{}: cannot be written; choose a folder that exists and is yours",
                                 path));
  }
}

// Renames the complete file, or says that it is not complete: Google Benchmark does not tell.
void keep_out_file(const std::string& partial, const std::string& path, bool is_json) {
  std::ifstream file(partial);
  if (is_json && nlohmann::json::parse(file, nullptr, false).is_discarded()) {
    throw std::runtime_error(
        fmt::format("{}: could not be written completely; is the disk full?", partial));
  }
  fs::rename(partial, path);
}

void add_context(const Suite& suite) {
  benchmark::AddCustomContext("suite", std::string(suite.name));
  for (const auto& [key, value] : machine_facts()) benchmark::AddCustomContext(key, value);
}

void initialize_benchmark(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "timerbench");
  std::vector<char*> argv;
  for (std::string& flag : flags) argv.push_back(flag.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  if (argc > 1) throw UsageError(fmt::format("'{}' is not understood; see 'timerbench run --help'", argv[1]));
}

void run(const RunOptions& options, std::vector<std::string> flags) {
  const Suite suite = options.suite.empty() ? own_choice() : find_suite(options.suite);
  const auto chosen = find_backends(split(options.backends));

  std::vector<const Workload*> chosen_workloads;
  std::vector<std::string> names = split(options.workloads);
  if (names.empty() && options.traces.empty()) {
    names.assign(suite.workloads.begin(), suite.workloads.end());
  }
  for (const std::string& name : names) chosen_workloads.push_back(&find_workload(name));
  std::vector<TimerId> sizes;
  for (const std::string& size : split(options.sizes)) sizes.push_back(parse_size(size));
  if (sizes.empty()) sizes = suite.sizes;
  std::sort(sizes.begin(), sizes.end());

  Campaign campaign(std::string(suite.name), options.granularity,
                    options.replay_seconds > 0 ? options.replay_seconds : suite.replay_seconds);
  for (const Workload* workload : chosen_workloads) {
    const auto& own = sizes.empty() ? std::vector<TimerId>{workload->default_size} : sizes;
    for (const TimerId size : own) {
      add_workload(campaign, *workload,
                   {.size = size,
                    .items = options.items != 0 ? options.items : suite.items,
                    .seed = options.seed});
    }
  }
  for (const std::string& path : split(options.traces)) add_trace_file(campaign, path);
  if (options.traces.empty() && options.workloads.empty()) {
    for (const std::string_view name : suite.traces) add_trace_file(campaign, shipped_trace(name));
  }
  if (campaign.inputs() == 0) {
    throw UsageError("nothing to run: give --suite, --workloads or --trace; see 'timerbench run --help'");
  }

  // The suite's settings come first, so that flags on the command line override them.
  const std::string out = take_out_file(flags);
  const std::string partial = out + ".partial";
  std::vector<std::string> all = {
      fmt::format("--benchmark_repetitions={}", suite.repetitions),
      fmt::format("--benchmark_min_time={}", suite.min_seconds)};
  all.insert(all.end(), flags.begin(), flags.end());
  if (!out.empty()) {
    check_writable(partial);
    all.push_back(kOutFlag + partial);
  }
  add_context(suite);
  initialize_benchmark(std::move(all));
  campaign.register_cells(chosen);

  CellReporter reporter(campaign.cells());
  const bool own_format = std::none_of(flags.begin(), flags.end(), [](const std::string& flag) {
    return flag.starts_with("--benchmark_format") || flag.starts_with("--benchmark_list_tests");
  });
  benchmark::RunSpecifiedBenchmarks(own_format ? &reporter : nullptr);
  benchmark::Shutdown();

  if (!out.empty()) {
    const bool is_json = std::none_of(flags.begin(), flags.end(), [](const std::string& flag) {
      return flag.starts_with("--benchmark_out_format") && !flag.ends_with("json");
    });
    keep_out_file(partial, out, is_json);
  }
  const auto& counts = reporter.counts();
  if (own_format) {
    fmt::print("{}{} cells measured, {} failed, {} without a figure{}\n",
               interrupted() ? "interrupted: " : "", counts.measured, counts.failed, counts.without,
               out.empty() ? "" : "; results in " + out);
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
  command->add_option("--suite", options->suite, "One of 'timerbench list'; the options below narrow it");
  command->add_option("--backends", options->backends, "Comma-separated backends or families");
  command->add_option("--workloads", options->workloads, "Comma-separated workloads");
  command->add_option("--sizes", options->sizes, "Comma-separated populations: 1000,10k,1e6");
  command->add_option("--trace", options->traces, "Comma-separated trace files");
  command->add_option("--granularity", options->granularity,
                      "Ticks to which granular backends round deadlines")
      ->capture_default_str()
      ->check(CLI::Range(Tick{1}, Tick{1} << 32));
  command->add_option("--items", options->items,
                      "Operations measured where the workload leaves it free; 0: the suite's");
  command->add_option("--seed", options->seed, "Of the workloads")->capture_default_str();
  command->add_option("--replay-seconds", options->replay_seconds,
                      "The most that one replay may take before its cell is a timeout; 0: the suite's");
  command->callback([options, command] { run(*options, command->remaining()); });
}

}  // namespace timerbench
