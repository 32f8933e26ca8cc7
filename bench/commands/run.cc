// timerbench run: measures a suite, or the cells that the options choose.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/benchmark_flags.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/names.h"
#include "commands/plans.h"
#include "commands/processes.h"
#include "suites/reporter.h"
#include "system/allocations.h"
#include "system/machine.h"
#include "system/output_file.h"
#include "system/pages.h"
#include "system/program.h"
#include "system/stop.h"
#include "verify/durable_verification.h"
#include "verify/service_verification.h"
#include "verify/verification.h"
#include "verify/verified.h"

namespace timerbench {
namespace {

// The cells of a suite of either kind, ready for Google Benchmark.
struct Run {
  std::string_view suite;
  std::string granularity{};               // empty: each scenario has its own
  std::vector<std::string> default_flags;  // the command line overrides them
  // Refuses the contenders that break their contract; with `tells` it prints what it does.
  std::function<void(bool tells)> refuse_wrong = [](bool) {};
  std::function<std::size_t()> register_cells;  // returns how many
  std::function<std::unique_ptr<Reporter>(std::size_t cells)> make_reporter;
  std::function<CellCounts()> counts;
  std::function<void(const std::string& results)> keep_beside;  // writes what the results lack
};

void add_context(const Run& run, const RunOptions& options) {
  benchmark::AddCustomContext("suite", std::string(run.suite));
  if (!run.granularity.empty()) benchmark::AddCustomContext("granularity", run.granularity);
  if (!options.pages.empty()) benchmark::AddCustomContext("pages", options.pages);
  benchmark::AddCustomContext("seed", std::to_string(options.seed));
  // The load is not watched: a campaign starts thousands of runs.
  for (const auto& [key, value] : machine_facts(/*load_seconds=*/0))
    benchmark::AddCustomContext(key, value);
}

void measure(const Run& run, const RunOptions& options) {
  std::vector<std::string> flags = options.benchmark_flags;
  check_benchmark_flags(flags);
  flags.insert(flags.begin(), run.default_flags.begin(), run.default_flags.end());
  const ResultFile results(flags);
  const bool only_list = any_begins(flags, "--benchmark_list_tests") &&
                         !any_begins(flags, "--benchmark_list_tests=false");
  const bool own_report = !only_list && !any_begins(flags, "--benchmark_format");
  add_context(run, options);
  initialize_benchmark(flags);
  if (!only_list && !options.verified) run.refuse_wrong(own_report);
  const std::size_t cells = run.register_cells();

#ifndef NDEBUG
  if (own_report) fmt::print("Warning: not an optimised build; use the preset release\n");
#endif
  const std::unique_ptr<Reporter> reporter = own_report ? run.make_reporter(cells) : nullptr;
  const auto chosen_cells = benchmark::RunSpecifiedBenchmarks(reporter.get());
  benchmark::Shutdown();
  if (only_list) return;
  if (chosen_cells == 0) {
    throw CommandFailed{kUsage};  // Google Benchmark has printed why
  }
  results.keep();
  if (!results.path().empty()) run.keep_beside(results.path());
  const CellCounts counts = run.counts();
  if (own_report) {
    fmt::print("{}{} cells measured, {} failed, {} without a figure{}\n",
               interrupted() ? "interrupted: " : "", counts.measured, counts.failed, counts.without,
               results.path().empty() ? "" : "; results in " + results.path());
    fmt::print("{}", reporter->answer());
  }
  if (interrupted() || counts.failed > 0) throw CommandFailed();
  if (counts.measured == 0) throw std::runtime_error("nothing was measured; each cell says why");
}

// Writes NAME.distributions.json beside NAME.json.
void write_distributions(const nlohmann::json& distributions, const std::string& results) {
  OutputFile file(std::filesystem::path(results).replace_extension(".distributions.json"));
  file.write(distributions.dump());
  file.sync();
  file.commit();
}

Pass pass_named(const std::string& name) {
  if (name == "tails") return Pass::tails;
  if (name == "memory") return Pass::memory;
  if (name == "counters") return Pass::counters;
  return name == "once" ? Pass::once : Pass::total;
}

void ignore_stage(const std::string& /*stage*/) {}

Verdict verify_briefly(const Backend& backend) {
  return verify(backend, /*seed=*/1, std::chrono::duration<double>(0.2), ignore_stage);
}

Verdict verify_briefly(const ServiceBackend& service) {
  return verify(service, /*seed=*/1, /*seconds=*/0.2, ignore_stage);
}

Verdict verify_briefly(const DurableContender& queue) {
  return verify(queue, /*seed=*/1, /*seconds=*/0.5, ignore_stage);
}

// It may change while this program stays the same.
bool is_another_program(const Backend& backend) { return backend.process != nullptr; }
bool is_another_program(const ServiceBackend& /*service*/) { return false; }
bool is_another_program(const DurableContender& /*queue*/) { return false; }

bool is_control(const DurableContender& /*queue*/) { return false; }
bool is_control(const auto& contender) { return contender.traits.precision == Precision::none; }

// Verifies each contender, a backend or a service, once for each build of this program. A refused
// one is not measured. One whose server is missing is not refused: its cells say that it is
// unavailable.
template <class Contender>
void refuse_wrong(std::vector<const Contender*> contenders, std::string_view kind,
                  std::string_view time_of_each, bool tells,
                  const std::function<void(const Contender&, std::string)>& refuse) {
  VerifiedNames verified(own_path());
  std::erase_if(contenders, [&](const Contender* one) {
    if (is_control(*one)) return true;
    return !is_another_program(*one) && verified.contains(std::string(one->traits.name));
  });
  if (contenders.empty()) return;
  if (tells) {
    fmt::print("Verifying {} first, once for this build, {} each: {}\n", kind, time_of_each,
               contenders.size());
    std::fflush(stdout);
  }
  for (const Contender* one : contenders) {
    const std::string name(one->traits.name);
    const Verdict verdict = verify_briefly(*one);
    if (interrupted()) return;
    if (verdict.is_ok) {
      verified.add(name);
    } else if (!verdict.line.starts_with("UNAVAILABLE")) {
      if (tells) fmt::print("{:<22} {}\n{}", name, verdict.line, verdict.evidence);
      refuse(*one,
             fmt::format("wrong: does not keep the contract; see timerbench verify {}", name));
    }
  }
}

std::unique_ptr<Reporter> reporter_of(const std::string& pass, std::size_t cells) {
  const auto of_each_cell = [cells](CellReporter::Describe describe) {
    return std::make_unique<CellReporter>(cells, std::move(describe));
  };
  if (pass == "tails") return of_each_cell(describe_tails);
  if (pass == "memory") return of_each_cell(describe_memory);
  if (pass == "counters") return of_each_cell(describe_counts);
  if (pass == "once") return of_each_cell(describe_nothing);
  return std::make_unique<CostReporter>(
      cells, [](std::string_view name) { return find_backend(std::string(name)).traits; });
}

void run_replays(const RunOptions& options, const Suite& suite) {
  const auto chosen = choose_backends(options, suite);
  Campaign campaign = plan_replays(options, suite);
  campaign.choose_pass(pass_named(options.pass));
  measure({.suite = suite.name,
           .granularity = std::to_string(options.granularity),
           .default_flags = {fmt::format("--benchmark_repetitions={}", suite.rounds),
                             fmt::format("--benchmark_min_time={}", suite.min_seconds)},
           .refuse_wrong =
               [&](bool tells) {
                 if (options.pass == "once") return;
                 refuse_wrong<Backend>(chosen, "backends", "half a second", tells,
                                       [&](const Backend& backend, std::string failure) {
                                         campaign.refuse(backend, std::move(failure));
                                       });
               },
           .register_cells =
               [&] {
                 campaign.register_cells(chosen);
                 return campaign.cells();
               },
           .make_reporter = [&](std::size_t cells) { return reporter_of(options.pass, cells); },
           .counts = [&] { return campaign.counts(); },
           .keep_beside =
               [&](const std::string& results) {
                 if (options.pass == "tails")
                   write_distributions(campaign.distributions(), results);
               }},
          options);
}

template <class Contender>
void run_realtime(const RunOptions& options, const RealtimeSuiteOf<Contender>& suite) {
  RealtimeCampaign campaign = plan_realtime(options, suite);
  measure(
      {.suite = suite.name,
       .default_flags = {fmt::format("--benchmark_repetitions={}", suite.rounds)},
       .refuse_wrong =
           [&](bool tells) {
             refuse_wrong<Contender>(choose_contenders(options, suite), "contenders",
                                     "some seconds", tells,
                                     [&](const Contender& contender, const std::string& failure) {
                                       campaign.refuse(contender.traits.name, failure);
                                     });
           },
       .register_cells =
           [&] {
             campaign.register_cells();
             return campaign.cells();
           },
       .make_reporter =
           [&](std::size_t cells) {
             return std::make_unique<CellReporter>(cells, [&](const auto& runs) {
               return campaign.summary(runs.front().run_name.function_name);
             });
           },
       .counts = [&] { return campaign.counts(); },
       .keep_beside =
           [&](const auto& results) { write_distributions(campaign.distributions(), results); }},
      options);
}

}  // namespace

void run_suite(const RunOptions& options) {
  if (options.pass == "memory" && !allocations_are_counted()) {
    exec_program(own_path().parent_path() / "timerbench_memory");
  }
  if (!options.pages.empty()) choose_page_size(options.pages);
  add_processes(options.processes);
  const auto suite = choose_suite(options);
  if (const auto* replays = std::get_if<Suite>(&suite)) {
    run_replays(options, *replays);
  } else if (const auto* realtime = std::get_if<RealtimeSuite>(&suite)) {
    run_realtime(options, *realtime);
  } else {
    run_realtime(options, std::get<DurableSuite>(suite));
  }
}

}  // namespace timerbench
