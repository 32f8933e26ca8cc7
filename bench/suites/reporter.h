// Prints cells as they are measured.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/timer_queue.h"
#include "suites/cost_report.h"

namespace timerbench {

class Reporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) final;
  void Finalize() override {}

  // The conclusion of the run, printed at the end.
  virtual std::string answer() const { return ""; }

 protected:
  explicit Reporter(std::size_t cells) : cells_(cells) {}

  // "[ 12/504]"
  std::string progress() const;
  std::size_t name_width() const { return name_width_; }

 private:
  // Called once for each cell, with all its rounds, or only their aggregates if flags say so.
  // `failed`: the round that failed, or nullptr.
  virtual void report(const std::vector<Run>& rounds, const Run* failed) = 0;

  std::size_t cells_;
  std::size_t done_ = 0;
  std::size_t name_width_ = 0;
  std::string last_;  // the cell reported last
};

// Prints "[ 12/504] NAME FIGURES" as cells finish. A cell without a figure says why.
class CellReporter : public Reporter {
 public:
  // `describe`: the figures of a cell, from its rounds, or from their aggregates if flags ask for
  // only these.
  using Describe = std::function<std::string(const std::vector<Run>&)>;

  CellReporter(std::size_t cells, Describe describe)
      : Reporter(cells), describe_(std::move(describe)) {}

 private:
  void report(const std::vector<Run>& rounds, const Run* failed) override;

  Describe describe_;
};

// Prints a table of each input when its last cell is measured, and at the end the cheapest
// backends.
class CostReporter : public Reporter {
 public:
  using TraitsOf = std::function<Traits(std::string_view backend)>;

  CostReporter(std::size_t cells, TraitsOf traits_of)
      : Reporter(cells), traits_of_(std::move(traits_of)) {}

  void Finalize() override { finish_input(); }
  std::string answer() const override;

 private:
  void report(const std::vector<Run>& rounds, const Run* failed) override;
  void finish_input();

  TraitsOf traits_of_;
  std::vector<CostCell> input_;                       // the finished cells of the current input
  std::string cheapest_;                              // of the finished inputs
  std::map<std::string, std::string_view> licences_;  // by backend
  std::size_t rounds_ = 0;                            // the most that any cell has
};

// Descriptions of the other passes: the longest and the usual advance(), bytes, counts.
std::string describe_tails(const std::vector<benchmark::BenchmarkReporter::Run>& runs);
std::string describe_memory(const std::vector<benchmark::BenchmarkReporter::Run>& runs);
std::string describe_counts(const std::vector<benchmark::BenchmarkReporter::Run>& runs);

std::string describe_nothing(const std::vector<benchmark::BenchmarkReporter::Run>& runs);

}  // namespace timerbench
