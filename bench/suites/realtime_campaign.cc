#include "suites/realtime_campaign.h"

#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "system/stop.h"
#include "trace/excerpt.h"

namespace timerbench {

std::string describe_lateness(const Durations& lateness) {
  const auto in_us = [](std::optional<double> ns) {
    return ns ? fmt::format("{:>9.1f}", *ns / 1e3) : fmt::format("{:>9}", "-");
  };
  return fmt::format("late by {} us p50 {} p99 {} max", in_us(lateness.quantile(0.5)),
                     in_us(lateness.quantile(0.99)), in_us(lateness.max()));
}

void RealtimeCampaign::add(std::string name, std::function<RealtimeFigures()> measure) {
  cells_.push_back({std::move(name), std::move(measure)});
}

void RealtimeCampaign::refuse(std::string_view service, const std::string& failure) {
  for (Cell& cell : cells_) {
    if (cell.name.substr(cell.name.rfind('/') + 1) != service) continue;
    cell.measure = [failure] { return RealtimeFigures{.failure = failure}; };
  }
}

void RealtimeCampaign::register_cells() {
  for (Cell& cell : cells_) {
    benchmark::RegisterBenchmark(cell.name.c_str(),
                                 [&cell](benchmark::State& state) { measure(cell, state); })
        ->UseManualTime()
        ->Iterations(1);
  }
}

void RealtimeCampaign::measure(Cell& cell, benchmark::State& state) {
  // A cell that has failed once fails in all rounds after that: Google Benchmark crashes if the first
  // round of a cell has failed and two others have not.
  const std::string before = cell.figures.empty() ? "" : cell.figures.back().failure;
  RealtimeFigures& figures = cell.figures.emplace_back();
  for (auto iteration : state) {
    (void)iteration;
    figures.failure = before;
    if (before.empty()) try {
        throw_if_interrupted();
        figures = cell.measure();
      } catch (...) {
        figures.failure = current_failure();
      }
    if (!figures.failure.empty()) {
      state.SkipWithError(printable(figures.failure).c_str());
      return;
    }
    state.SetIterationTime(figures.seconds);
  }
  for (const auto& [name, value] : figures.counters) state.counters[name] = value;
  for (const auto& [name, durations] : figures.distributions) {
    static constexpr std::pair<const char*, double> kPercentiles[] = {
        {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};
    for (const auto& [percentile, q] : kPercentiles) {
      const auto value = durations.quantile(q);
      if (value) state.counters[fmt::format("{}_{}_ns", name, percentile)] = *value;
    }
    if (durations.count() > 0) state.counters[name + "_max_ns"] = durations.max();
  }
  state.SetLabel(fmt::format("{}{}{}", figures.label, figures.saturated ? ", saturated" : "",
                             figures.interrupted ? ", interrupted" : ""));
}

std::vector<std::string> RealtimeCampaign::names() const {
  std::vector<std::string> names;
  for (const Cell& cell : cells_) names.push_back(cell.name);
  return names;
}

CellCounts RealtimeCampaign::counts() const {
  CellCounts counts;
  for (const Cell& cell : cells_) {
    if (cell.figures.empty()) continue;
    const auto failed = std::ranges::find_if(
        cell.figures, [](const RealtimeFigures& figures) { return !figures.failure.empty(); });
    if (failed == cell.figures.end()) {
      ++counts.measured;
    } else {
      counts.add_failure(failed->failure);
    }
  }
  return counts;
}

const std::string& RealtimeCampaign::summary(const std::string& name) const {
  const auto cell = std::ranges::find(cells_, name, &Cell::name);
  return cell->figures.back().summary;
}

nlohmann::json RealtimeCampaign::distributions() const {
  nlohmann::json cells = nlohmann::json::object();
  for (const Cell& cell : cells_) {
    for (const RealtimeFigures& figures : cell.figures) {
      if (!figures.failure.empty()) continue;
      nlohmann::json round = nlohmann::json::object();
      for (const auto& [name, durations] : figures.distributions) {
        round[name] = durations.to_json();
      }
      if (figures.timeline) round["timeline"] = *figures.timeline;
      cells[cell.name].push_back(std::move(round));
    }
  }
  return cells;
}

}  // namespace timerbench
