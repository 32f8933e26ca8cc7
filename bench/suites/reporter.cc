#include "suites/reporter.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "system/perf_counters.h"

namespace timerbench {

namespace {

using Run = benchmark::BenchmarkReporter::Run;

// Unlike fmt::print it does not throw when the pipe is closed: the figures must still be kept.
void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

// Splits SUITE/WORKLOAD/SIZE/BACKEND.
CostCell named(std::string_view cell) {
  const std::size_t backend = cell.rfind('/');
  const std::size_t size = cell.rfind('/', backend - 1);
  const std::size_t workload = cell.find('/');
  return {.workload = std::string(cell.substr(workload + 1, size - workload - 1)),
          .size = std::stoull(std::string(cell.substr(size + 1))),
          .backend = std::string(cell.substr(backend + 1)),
          .ranking = to_string(Precision::none)};
}

}  // namespace

bool Reporter::ReportContext(const Context& context) {
  name_width_ = context.name_field_width;
  return true;
}

void Reporter::ReportRuns(const std::vector<Run>& runs) {
  // With several rounds Google Benchmark calls this again with their aggregates, or only with the
  // aggregates if flags say so.
  const bool aggregates = runs.front().run_type != Run::RT_Iteration;
  const std::string cell = runs.front().run_name.str();
  if (aggregates && cell == last_) return;
  last_ = cell;
  const auto failed = std::ranges::find_if(runs, [](const Run& run) { return run.error_occurred; });
  if (failed != runs.end() && failed->error_message.starts_with("interrupted")) {
    return;  // or hundreds of cells would say the same
  }
  ++done_;
  report(runs, failed == runs.end() ? nullptr : &*failed);
}

std::string Reporter::progress() const {
  return fmt::format("[{:>{}}/{}]", done_, std::to_string(cells_).size(), cells_);
}

void CellReporter::report(const std::vector<Run>& rounds, const Run* failed) {
  print(fmt::format("{} {:<{}} {}\n", progress(), rounds.front().run_name.function_name,
                    name_width(), failed != nullptr ? failed->error_message : describe_(rounds)));
}

void CostReporter::report(const std::vector<Run>& rounds, const Run* failed) {
  CostCell cell = named(rounds.front().run_name.function_name);
  const Traits traits = traits_of_(cell.backend);
  cell.ranking = ranking(traits);
  if (!licence(traits).empty()) licences_[cell.backend] = licence(traits);
  if (failed != nullptr) {
    cell.failure = failed->error_message;
  } else {
    const std::string& label = rounds.front().report_label;  // "PRECISION, per ITEM"
    cell.item = label.substr(std::min(label.find(", per ") + 6, label.size()));
    for (const Run& run : rounds) {
      if (run.run_type != Run::RT_Iteration && run.aggregate_name != "median") continue;
      cell.rounds.push_back(run.counters.at("ns_per_item"));
    }
    rounds_ = std::max(rounds_, cell.rounds.size());
  }
  const bool is_same_input = !input_.empty() && input_.front().workload == cell.workload &&
                             input_.front().size == cell.size;
  if (!is_same_input) finish_input();
  input_.push_back(std::move(cell));
  // Nothing has been printed yet, so a closed pipe would stay unnoticed.
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  if (poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) raise(SIGPIPE);
  // On a terminal the table overwrites this line.
  if (isatty(STDERR_FILENO) == 1) {
    std::fputs(fmt::format("\r\x1b[K{} {}", progress(), input_.back().backend).c_str(), stderr);
  }
}

void CostReporter::finish_input() {
  if (input_.empty()) return;
  if (isatty(STDERR_FILENO) == 1) std::fputs("\r\x1b[K", stderr);
  print(cost_table(input_) + '\n');
  cheapest_ += cheapest(input_);
  input_.clear();
}

std::string CostReporter::answer() const {
  if (rounds_ == 0) return "";
  std::string meaning =
      rounds_ == 1
          ? "Each figure is from one round, so nothing tells how sure it is. Measure several\n"
            "rounds: --benchmark_repetitions=5.\n"
          : fmt::format(
                "Figures are medians of {} rounds; brackets hold the least and the greatest\n"
                "round. 'Tied' means that these ranges overlap, 'cheaper' that they do not.\n",
                rounds_);
  for (const auto& [backend, licence] : licences_) {
    meaning += fmt::format("{} has a licence: {}.\n", backend, licence);
  }
  return cheapest_.empty() ? meaning : meaning + "\nCheapest of each precision:\n" + cheapest_;
}

std::string describe_tails(const std::vector<benchmark::BenchmarkReporter::Run>& runs) {
  const auto& counters = runs.front().counters;
  const auto text = [&](const char* name) {
    const auto found = counters.find(name);
    return found == counters.end() ? std::string("-") : fmt::format("{:.0f}", found->second.value);
  };
  return fmt::format(
      "advance p50 {} p99.9 {} max {} ns; longest by itself: advance {} ({} fired, {} moved), "
      "schedule {}, cancel {}",
      text("advance_p50_ns"), text("advance_p99.9_ns"), text("advance_max_ns"), text("worst_ns"),
      text("worst_fired"), text("worst_moved"), text("schedule_worst_ns"), text("cancel_worst_ns"));
}

std::string describe_memory(const std::vector<benchmark::BenchmarkReporter::Run>& runs) {
  const auto& counters = runs.front().counters;
  const auto each = counters.find("bytes_per_timer");
  return fmt::format("{} bytes a timer, {:.0f} empty, {:.2f} allocations per item",
                     each == counters.end() ? "-" : fmt::format("{:.1f}", each->second.value),
                     counters.at("empty_bytes").value, counters.at("allocations_per_item").value);
}

std::string describe_counts(const std::vector<benchmark::BenchmarkReporter::Run>& runs) {
  std::string text;
  for (const CountedEvent& event : processor_events()) {
    const auto& counters = runs.front().counters;
    const auto found = counters.find(fmt::format("{}_per_item", event.name));
    if (found == counters.end()) continue;
    text += fmt::format("{}{:.2f} {}", text.empty() ? "" : ", ", found->second.value, event.name);
  }
  return text + " per item";
}

std::string describe_nothing(const std::vector<benchmark::BenchmarkReporter::Run>& /*runs*/) {
  return "replayed once";
}

}  // namespace timerbench
