// One line for each cell.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace timerbench {

// Prints "[ 12/504] NAME  FIGURES" as cells finish. Cells without a figure say why.
class CellReporter : public benchmark::BenchmarkReporter {
 public:
  // `describe`: the figures of a cell, given its rounds, or their aggregates if flags say that
  // there are to be none but these.
  using Describe = std::function<std::string(const std::vector<Run>&)>;

  CellReporter(std::size_t cells, Describe describe)
      : cells_(cells), describe_(std::move(describe)) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override {}

 private:
  std::size_t cells_;
  Describe describe_;
  std::size_t done_ = 0;
  std::size_t name_width_ = 0;
  std::string last_;  // the cell
};

// The same of the other passes: the worst and usual advance(), and bytes.
std::string describe_tails(const std::vector<benchmark::BenchmarkReporter::Run>& runs);
std::string describe_memory(const std::vector<benchmark::BenchmarkReporter::Run>& runs);
std::string describe_counts(const std::vector<benchmark::BenchmarkReporter::Run>& runs);

std::string describe_nothing(const std::vector<benchmark::BenchmarkReporter::Run>& runs);

// "median [min - max] ns, per item" of a cell of the suites that measure costs.
std::string describe_costs(const std::vector<benchmark::BenchmarkReporter::Run>& runs);

}  // namespace timerbench
