#include "commands/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "commands/benchmark_flags.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/names.h"
#include "commands/numbers.h"
#include "commands/processes.h"
#include "system/doctor.h"
#include "system/nearest.h"

namespace timerbench {
namespace {

// CLI::Range accepts nan, and turns -1 into 2^64 - 1.
template <class T>
CLI::Validator in_range(T least, T most) {
  return {[=](const std::string& text) { return range_problem(text, least, most); },
          fmt::format("{} .. {}", least, most)};
}

CLI::Validator seconds_range() { return in_range(0.0, kMostSeconds); }

// Options that several commands share.
CLI::Option* add_granularity_option(CLI::App& command, Tick& granularity) {
  return command
      .add_option("--granularity", granularity, "Ticks to which granular backends round deadlines")
      ->capture_default_str()
      ->check(in_range(Tick{1}, Tick{1} << 32));
}

void add_items_option(CLI::App& command, std::uint64_t& items, const char* description) {
  constexpr std::uint64_t kMost = 10'000'000'000;
  command.add_option("--items", items, description)->check(in_range(std::uint64_t{0}, kMost));
}

void add_seed_option(CLI::App& command, std::uint64_t& seed, const char* description) {
  command.add_option("--seed", seed, description)
      ->capture_default_str()
      ->check(in_range(std::uint64_t{0}, ~std::uint64_t{0}));
}

void add_settings_option(CLI::App& command, std::vector<std::string>& settings) {
  command
      .add_option("--set", settings,
                  "NAME=VALUE: a parameter of the workload (see 'timerbench list'); repeatable")
      ->allow_extra_args(false);
}

constexpr const char* kTraceToRead = "NAME, NAME.npy or NAME.json";

void add_trace_to_write(CLI::App& command, std::string& out) {
  command.add_option("out", out, "NAME: NAME.npy and NAME.json are written")->required();
}

void add_list(CLI::App& app) {
  auto* command =
      app.add_subcommand("list", "List backends with their precision, workloads, suites");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print JSON, for programs");
  command->callback([as_json] { print_list(*as_json); });
}

void add_doctor(CLI::App& app) {
  auto* command = app.add_subcommand("doctor", "Check whether this machine is fit for measuring");
  command->footer(fmt::format("{}\n{}", kGradingRule, fmt::join(weights(), "\n")));
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print JSON, for programs");
  command->callback([as_json] { examine_machine(*as_json); });
}

void add_limits(CLI::App& app) {
  auto* command = app.add_subcommand("limits", "Measure this machine's memory, clock and sleeps");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print JSON, for programs");
  command->callback([as_json] { print_limits(*as_json); });
}

// The parameters of Kafka's TestPurgatoryPerformance; validate() checks them together.
void add_purgatory_options(CLI::App& command, PurgatoryOptions& options) {
  constexpr const char* kGroup = "Requests of --suite=purgatory";
  const auto add = [&]<class T>(const char* name, std::optional<T>& value, const char* text) {
    const T least = std::is_integral_v<T> ? T{1} : T(0.001);
    command.add_option(name, value, text)->check(in_range(least, T(1'000'000'000)))->group(kGroup);
  };
  add("--num", options.num, "Number of requests (default: --rate times --seconds)");
  add("--rate", options.rate, "Requests per second, arriving at random (default: 1000)");
  add("--pct50", options.pct50, "Median of the log-normal latency, in ms (default: 20)");
  add("--pct75", options.pct75, "75th percentile of the latency, in ms (default: 60)");
  add("--timeout", options.timeout, "Time-out of a request, in ms (default: 200)");
  add("--keys", options.keys, "Number of keys that watch a request (default: 3)");
  add("--key-space-size", options.key_space_size, "Number of different keys (default: 100)");
}

void add_process_option(CLI::App& command, std::vector<std::string>& commands) {
  command
      .add_option("--process", commands,
                  "Command of another program that replays traces, see docs/processes.md; may be "
                  "given several times")
      ->allow_extra_args(false);
}

// The options by which `run` and `prepare` choose cells.
void add_choice(CLI::App& command, RunOptions& options) {
  command.add_option("--suite", options.suite,
                     "A suite of 'timerbench list', or a TOML file; the options below narrow it");
  command.add_option(
      "--backends", options.backends,
      "Comma-separated backends, families or services (default: the suite's, or all)");
  add_process_option(command, options.processes);
  command.add_option("--workloads", options.workloads,
                     "Comma-separated workloads of 'timerbench list'");
  command.add_option(
      "--sizes", options.sizes,
      "Comma-separated numbers of timers, or of what the suite counts: 1000,10k,1e6");
  command.add_option("--trace", options.traces, "Comma-separated trace files");
  add_granularity_option(command, options.granularity);
  add_items_option(
      command, options.items,
      "Number of measured operations, for workloads that have no fixed number; 0: the suite's");
  add_seed_option(command, options.seed,
                  "Seed of the workloads: the same seed gives the same traces");
  add_settings_option(command, options.settings);
  command
      .add_option("--pages", options.pages,
                  "Size of memory pages: 4k or 2m (default: the system's)")
      ->check(CLI::IsMember({"4k", "2m"}));
  command.add_option("--cache", options.cache, "Folder that keeps the workloads' traces");
  command
      .add_option(
          "--replay-seconds", options.replay_seconds,
          "Time limit of one replay with its setup; a cell that exceeds it is a timeout; 0: the "
          "suite's")
      ->check(seconds_range());
  command
      .add_option("--seconds", options.seconds,
                  "How long to measure each cell of a suite on the wall clock; 0: the suite's")
      ->check(seconds_range());
  add_purgatory_options(command, options.purgatory);
}

void add_run(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  auto* command = app.add_subcommand(
      "run", "Measure a suite, or backends, workloads and traces of your choice");
  command->footer(
      "Google Benchmark's own flags are understood too, such as\n"
      "  --benchmark_out=FILE.json        write the results, complete or not at all\n"
      "  --benchmark_repetitions=N        of each cell, for the spread\n"
      "  --benchmark_min_time=SECONDS     measured in each round\n"
      "  --benchmark_filter=REGEX         cells by name, SUITE/WORKLOAD/SIZE/BACKEND\n"
      "  --benchmark_list_tests           name the cells and run none\n"
      "  --benchmark_format=json          on standard output");
  command->allow_extras();
  add_choice(*command, *options);
  command
      ->add_option(
          "--pass", options->pass,
          "What to measure: total (the cost), tails (how long single calls take), memory, counters "
          "(of the processor), or once (a single replay, for tools that count from outside)")
      ->capture_default_str()
      ->check(CLI::IsMember({"total", "tails", "memory", "counters", "once"}));
  command
      ->add_option(
          "--slow-down", options->slow_down,
          "Slow every replay down by this many percent, to see whether a comparison finds it")
      ->check(in_range(0.0, 1000.0));
  command->add_flag("--verified", options->verified,
                    "Do not verify the backends first (otherwise done once for each build)");
  command->callback([options, command] {
    options->benchmark_flags = command->remaining();
    run_suite(*options);
  });
}

void add_prepare(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  auto* command = app.add_subcommand(
      "prepare", "Make the traces of a run, and print its cells as lines of JSON");
  add_choice(*command, *options);
  command->callback([options] { prepare_suite(*options); });
}

void add_verify(CLI::App& app) {
  auto options = std::make_shared<VerifyOptions>();
  auto* command = app.add_subcommand(
      "verify", "Check backends, services and durable queues against their contracts");
  command->add_option("names", options->names,
                      "Backends, services, durable queues or families (default: all backends and "
                      "services; 'durable' is all durable queues)");
  add_process_option(*command, options->processes);
  command
      ->add_option(
          "--seconds", options->seconds,
          "Time for random traces of each backend, random calls of each durable queue, and each of "
          "five audits of a service")
      ->capture_default_str()
      ->check(seconds_range());
  add_seed_option(*command, options->seed, "The same seed tries the same traces");
  auto* trace = command->add_option("--trace", options->trace,
                                    "Replay this trace instead, and check it fire by fire");
  add_granularity_option(*command, options->conditions.granularity)->needs(trace);
  command->add_option("--start", options->conditions.start, "Begin with the clock at this tick")
      ->check(in_range(Tick{0}, kNever - 1))
      ->needs(trace);
  command
      ->add_flag_callback(
          "--sleeping", [options] { options->conditions.driver = AuditedQueue::Driver::sleeping; },
          "Replay it like a driver that sleeps until next_wakeup()")
      ->needs(trace);
  command->callback([options] { verify_contenders(*options); });
}

void add_replay(CLI::App& app) {
  auto options = std::make_shared<ReplayOptions>();
  auto* command = app.add_subcommand("replay", "Replay a trace with one backend, untimed");
  command->add_option("--trace", options->trace, kTraceToRead)->required();
  command->add_option("--backend", options->backend, "One of 'timerbench list'")->required();
  command->add_option("--fired", options->fired, "File for now,id,deadline of every fire");
  add_granularity_option(*command, options->granularity);
  command->callback([options] { replay_trace(*options); });
}

void add_generate(CLI::App& parent) {
  auto options = std::make_shared<GenerateOptions>();
  auto* command = parent.add_subcommand("generate", "Write the trace of a workload");
  command->add_option("workload", options->workload, "One of 'timerbench list'")->required();
  add_trace_to_write(*command, options->out);
  command->add_option("--size", options->size, "Number of timers (default: the workload's)");
  add_items_option(*command, options->items, "Number of measured operations; 0: the workload's");
  add_seed_option(*command, options->seed, "The same seed gives the same trace");
  add_settings_option(*command, options->settings);
  command->callback([options] { generate_trace(*options); });
}

void add_import(CLI::App& parent) {
  auto options = std::make_shared<ImportOptions>();
  auto* command = parent.add_subcommand("import", "Turn a recording or a table into a trace");
  command->footer(
      "A CSV begins with the line at,op,id,delay. Its rows are in order of `at`, the clock in "
      "ticks:\n"
      "  5,schedule,0,30   arm timer 0, or move it, to 35; ids are numbered from 0\n"
      "  7,cancel,0,       cancel it\n"
      "  9,advance,,       let time pass to 9, or by the delay if one is given");
  command->add_option("--format", options->format, "ftrace: the kernel's timer events; csv")
      ->required()
      ->check(CLI::IsMember({"ftrace", "csv"}));
  command->add_option("in", options->in, "File to read; for ftrace also .xz")->required();
  add_trace_to_write(*command, options->out);
  command
      ->add_option("--hz", options->hz,
                   "ftrace: jiffies per second, where the header does not say CONFIG_HZ")
      ->check(in_range(1e-3, 1e9));
  command->add_option("--unit-ns", options->unit_ns, "csv: length of a tick in ns")
      ->capture_default_str()
      ->check(in_range(1e-3, 1e18));
  command->add_option("--source", options->source, "ftrace: what was recorded, in words");
  command->callback([options] { import_trace(*options); });
}

void add_export(CLI::App& parent) {
  struct Options {
    std::string format, in, out;
  };
  auto options = std::make_shared<Options>();
  auto* command = parent.add_subcommand("export", "Write a trace as a table");
  command->add_option("--format", options->format, "csv: at,op,id,delay")
      ->required()
      ->check(CLI::IsMember({"csv"}));
  command->add_option("in", options->in, kTraceToRead)->required();
  command->add_option("out", options->out, "File to write")->required();
  command->callback([options] { export_trace(options->in, options->out); });
}

void add_stat(CLI::App& parent) {
  auto path = std::make_shared<std::string>();
  auto* command = parent.add_subcommand("stat", "Describe a trace");
  command->add_option("trace", *path, kTraceToRead)->required();
  command->callback([path] { describe_trace(*path); });
}

void add_trace(CLI::App& app) {
  auto* command = app.add_subcommand("trace", "Make, import, export and describe traces");
  command->require_subcommand(1);
  add_generate(*command);
  add_import(*command);
  add_export(*command);
  add_stat(*command);
}

// CLI11 would only report that a subcommand is missing.
void check_command(const CLI::App& app, std::string_view name) {
  std::vector<std::string_view> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    known.push_back(command->get_name());
    if (known.back() == name) return;
  }
  if (!name.starts_with('-')) throw UsageError(unknown("command", name, known));
}

// CLI11 would report only the missing options.
void check_options(const CLI::App& app, std::span<char* const> arguments) {
  const CLI::App* command = &app;
  std::string name = app.get_name();
  for (const std::string_view argument : arguments.subspan(1)) {
    if (argument == "--") return;
    if (!argument.starts_with("--")) {
      const auto inner = command->get_subcommands(
          [&](const CLI::App* one) { return one->get_name() == argument; });
      if (inner.empty()) continue;
      command = inner.front();
      name += fmt::format(" {}", argument);
      continue;
    }
    const std::string_view option = argument.substr(0, argument.find('='));
    std::vector<std::string> own;
    for (const CLI::Option* one : command->get_options()) {
      for (const std::string& long_name : one->get_lnames()) own.push_back("--" + long_name);
    }
    std::vector<std::string_view> known(own.begin(), own.end());
    if (command->get_allow_extras()) {
      const auto flags = benchmark_flag_names();
      known.insert(known.end(), flags.begin(), flags.end());
    }
    if (std::ranges::find(known, option) != known.end()) continue;
    const std::string hint = did_you_mean(option, known);
    throw UsageError(fmt::format("unknown option '{}'{} See '{} --help'", option,
                                 hint.empty() ? "." : hint, name));
  }
}

// CLI11 would take the next argument as the value of `--sizes=`.
void check_not_empty(std::span<char* const> arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument.empty()) {
      throw UsageError(
          fmt::format("the argument after '{}' is empty; name what you mean", arguments[i - 1]));
    }
    if (argument.starts_with("--") && argument.ends_with('=')) {
      throw UsageError(fmt::format("'{}' has no value; give it one or leave it out", argument));
    }
  }
}

}  // namespace

int execute(int argc, char** argv) {
  CLI::App app("Comparative benchmark of timer queues: one trace, replayed by every backend.");
  app.name("timerbench");
  app.require_subcommand(1);
  app.set_version_flag("--version", TIMERBENCH_VERSION);
  add_list(app);
  add_limits(app);
  add_doctor(app);
  add_run(app);
  add_prepare(app);
  add_verify(app);
  add_replay(app);
  add_trace(app);
  add_built_processes();
  try {
    check_not_empty({argv, static_cast<std::size_t>(argc)});
    if (argc > 1) check_command(app, argv[1]);
    check_options(app, {argv, static_cast<std::size_t>(argc)});
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; see --help", error.what()));
  }
  return 0;
}

}  // namespace timerbench
