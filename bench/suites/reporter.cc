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
  // Of several repetitions it is called a second time, with their mean and the like.
  if (runs.front().run_type != Run::RT_Iteration) return;
  std::vector<double> costs;
  for (const Run& run : runs) {
    if (!run.error_occurred) costs.push_back(run.counters.at("ns_per_item"));
  }
  const auto failed_run =
      std::ranges::find_if(runs, [](const Run& run) { return run.error_occurred; });
  const Run& first = failed_run != runs.end() ? *failed_run : runs.front();
  if (first.error_message.starts_with("interrupted")) {  // hundreds of lines would say nothing
    ++counts_.without;
    return;
  }
  std::string line = fmt::format("[{:>{}}/{}] {:<{}} ", ++done_, std::to_string(cells_).size(),
                                 cells_, first.run_name.function_name, name_width_);
  if (first.error_occurred) {
    line += first.error_message;
    const bool failed =
        first.error_message.starts_with("wrong") || first.error_message.starts_with("error");
    ++(failed ? counts_.failed : counts_.without);
  } else {
    std::sort(costs.begin(), costs.end());
    line += fmt::format("{:>10.2f} ns [{:.2f} - {:.2f}]  {}", costs[costs.size() / 2],
                        costs.front(), costs.back(), first.report_label);
    ++counts_.measured;
  }
  // Unlike fmt::print it does not throw where nobody reads: the figures are still to be kept.
  std::puts(line.c_str());
  std::fflush(stdout);
}

}  // namespace timerbench
