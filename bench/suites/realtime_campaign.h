// Cells measured on the wall clock, each a Google Benchmark: how late timers fire, what threads do
// to a service.
#pragma once

#include <deque>
#include <functional>
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

// What measuring a cell once has given.
struct RealtimeFigures {
  // Not empty: why there are no figures; begins with the status, as in "wrong: 3 timers fired twice".
  std::string failure{};
  double seconds = 0;      // measured
  bool saturated = false;  // the service did not keep up: a result, and said in the label
  bool interrupted = false;
  std::string label{};    // what is promised, and what is counted
  std::string summary{};  // for the terminal
  std::vector<std::pair<std::string, double>> counters{};
  // Each also becomes counters, NAME_p50_ns and the like, as far as there are samples enough.
  std::vector<std::pair<std::string, Durations>> distributions{};
};

// For a summary: median, 99th percentile and maximum.
std::string describe_lateness(const Durations& lateness);

class RealtimeCampaign {
 public:
  // `name` is SUITE/SCENARIO/SIZE/SERVICE. `measure` may throw BackendError; whatever it throws
  // fails that cell only.
  void add(std::string name, std::function<RealtimeFigures()> measure);

  // Before register_cells(): the service's cells have no figure, for this reason.
  void refuse(std::string_view service, const std::string& failure);

  // Registers the cells in the order in which they were added. REQUIRES: this outlives the run.
  void register_cells();

  std::size_t cells() const { return cells_.size(); }
  std::vector<std::string> names() const;
  CellCounts counts() const;

  // What the terminal is to say of a cell that has figures.
  const std::string& summary(const std::string& name) const;

  // The whole distributions: {CELL: [{NAME: {"count", "edges", ...}}, ...]}, one of each round.
  nlohmann::json distributions() const;

 private:
  struct Cell {
    std::string name;
    std::function<RealtimeFigures()> measure;
    std::vector<RealtimeFigures> figures{};  // of each round
  };

  static void measure(Cell& cell, benchmark::State& state);

  std::deque<Cell> cells_;  // the benchmarks keep references
};

}  // namespace timerbench
