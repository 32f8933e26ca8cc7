#include "suites/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace timerbench {

bool CellReporter::ReportContext(const Context& context) {
  name_width_ = context.name_field_width;
  return true;
}

void CellReporter::ReportRuns(const std::vector<Run>& runs) {
  std::vector<double> costs;
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
    costs.push_back(run.counters.at("ns_per_item"));
  }
  const Run& first = runs.front();
  // The run's own suffixes (/manual_time) say nothing here.
  fmt::print("[{:>{}}/{}] {:<{}} ", ++done_, std::to_string(cells_).size(), cells_,
             first.run_name.function_name, name_width_);
  if (first.error_occurred) {
    fmt::print("{}\n", first.error_message);
    const bool failed = first.error_message.starts_with("wrong") ||
                        first.error_message.starts_with("error");
    ++(failed ? counts_.failed : counts_.without);
  } else {
    std::sort(costs.begin(), costs.end());
    fmt::print("{:>10.2f} ns [{:.2f} - {:.2f}]  {}\n", costs[costs.size() / 2], costs.front(),
               costs.back(), first.report_label);
    ++counts_.measured;
  }
  std::fflush(stdout);
}

}  // namespace timerbench
