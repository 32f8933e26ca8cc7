#include "suites/reporter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "system/perf_counters.h"

namespace timerbench {

bool CellReporter::ReportContext(const Context& context) {
  name_width_ = context.name_field_width;
  return true;
}

void CellReporter::ReportRuns(const std::vector<Run>& runs) {
  // Of several rounds it is called a second time, with their mean and the like, or only so, if
  // flags say that these are to be all.
  const bool aggregates = runs.front().run_type != Run::RT_Iteration;
  const std::string cell = runs.front().run_name.str();
  if (aggregates && cell == last_) return;
  last_ = cell;
  const auto failed_run =
      std::ranges::find_if(runs, [](const Run& run) { return run.error_occurred; });
  const Run& first = failed_run != runs.end() ? *failed_run : runs.front();
  if (first.error_message.starts_with("interrupted")) {  // hundreds of lines would say nothing
    return;
  }
  std::string line = fmt::format("[{:>{}}/{}] {:<{}} ", ++done_, std::to_string(cells_).size(),
                                 cells_, first.run_name.function_name, name_width_);
  line += first.error_occurred ? first.error_message : describe_(runs);
  // Unlike fmt::print it does not throw where nobody reads: the figures are still to be kept.
  std::puts(line.c_str());
  std::fflush(stdout);
}

std::string describe_costs(const std::vector<benchmark::BenchmarkReporter::Run>& runs) {
  std::vector<double> costs;
  for (const auto& run : runs) {
    const bool is_repetition = run.run_type == benchmark::BenchmarkReporter::Run::RT_Iteration;
    if (!is_repetition && run.aggregate_name != "median") continue;
    costs.push_back(run.counters.at("ns_per_item"));
  }
  std::sort(costs.begin(), costs.end());
  const std::string range =
      costs.size() < 2 ? "" : fmt::format(" ({:.2f} to {:.2f})", costs.front(), costs.back());
  return fmt::format("{:>10.2f} ns{}  {}", costs[costs.size() / 2], range,
                     runs.front().report_label);
}

std::string describe_tails(const std::vector<benchmark::BenchmarkReporter::Run>& runs) {
  const auto& counters = runs.front().counters;
  const auto text = [&](const char* name) {
    const auto found = counters.find(name);
    return found == counters.end() ? std::string("-") : fmt::format("{:.0f}", found->second.value);
  };
  return fmt::format("advance p50 {} p99.9 {} max {} ns, worst by itself {} ({} fired, {} moved)",
                     text("advance_p50_ns"), text("advance_p99.9_ns"), text("advance_max_ns"),
                     text("worst_ns"), text("worst_fired"), text("worst_moved"));
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
