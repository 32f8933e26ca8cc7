// Measures cells on the wall clock, each as a Google Benchmark: the lateness of timers, and calls
// from several threads.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/durations.h"
#include "suites/cell_failure.h"

namespace benchmark {
class State;
}

namespace timerbench {

// The result of measuring a cell once.
struct RealtimeFigures {
  // If not empty, why there are no figures; the status comes first: "wrong: 3 timers fired twice".
  std::string failure{};
  double seconds = 0;      // measured
  bool saturated = false;  // the service did not keep up; a result, which the label states
  bool interrupted = false;
  std::string label{};    // the promised precision, and the item
  std::string summary{};  // for the terminal
  std::vector<std::pair<std::string, double>> counters{};
  // Each also becomes counters, NAME_p50_ns and so on; percentiles need enough samples.
  std::vector<std::pair<std::string, Durations>> distributions{};
  // A run as a picture, for the file of distributions; nullptr: none.
  std::shared_ptr<const nlohmann::json> timeline{};
};

// The median, 99th percentile and maximum, for a summary.
std::string describe_lateness(const Durations& lateness);

class RealtimeCampaign {
 public:
  // `name` is SUITE/SCENARIO/SIZE/SERVICE. `measure` may throw what current_failure() turns into a
  // text; only its cell fails then.
  void add(std::string name, std::function<RealtimeFigures()> measure);

  // The service's cells get this failure and no figure. REQUIRES: called before register_cells().
  void refuse(std::string_view service, const std::string& failure);

  // Registers the cells in the order of add(). REQUIRES: this outlives the run.
  void register_cells();

  std::size_t cells() const { return cells_.size(); }
  std::vector<std::string> names() const;
  CellCounts counts() const;

  // The terminal's line for a cell that has figures.
  const std::string& summary(const std::string& name) const;

  // The whole distributions: {CELL: [{NAME: {"count", "edges", ...}}, ...]}, one for each round. A
  // time line has the name "timeline".
  nlohmann::json distributions() const;

 private:
  struct Cell {
    std::string name;
    std::function<RealtimeFigures()> measure;
    std::vector<RealtimeFigures> figures{};  // one for each round
  };

  static void measure(Cell& cell, benchmark::State& state);

  std::deque<Cell> cells_;  // the benchmarks keep references
};

}  // namespace timerbench
