// One line for each cell, in the cost of what the workload counts.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <string>
#include <vector>

namespace timerbench {

// Prints "[ 12/504] NAME  median [min - max] ns per item" as cells finish. Cells without a figure
// say why.
class CellReporter : public benchmark::BenchmarkReporter {
 public:
  explicit CellReporter(std::size_t cells) : cells_(cells) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override {}

 private:
  std::size_t cells_;
  std::size_t done_ = 0;
  std::size_t name_width_ = 0;
  std::string last_;  // the cell
};

}  // namespace timerbench
