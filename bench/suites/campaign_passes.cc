// The passes other than the total cost: times of single calls, allocations, processor events.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "suites/campaign.h"
#include "system/perf_counters.h"
#include "system/stop.h"
#include "trace/excerpt.h"

namespace timerbench {
namespace {

// The shortest of these replays shows what a call takes without disturbance.
constexpr int kReplays = 3;

// Adds the counters KIND_count, KIND_p50_ns ... KIND_max_ns; percentiles need enough samples.
void count(benchmark::State& state, const std::string& kind, const Durations& durations) {
  static constexpr std::pair<const char*, double> kPercentiles[] = {
      {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};
  state.counters[kind + "_count"] = static_cast<double>(durations.count());
  for (const auto& [name, q] : kPercentiles) {
    if (const auto value = durations.quantile(q)) {
      state.counters[fmt::format("{}_{}_ns", kind, name)] = *value;
    }
  }
  if (durations.count() > 0) state.counters[kind + "_max_ns"] = durations.max();
}

nlohmann::json to_json(const std::vector<AdvanceCall>& timeline) {
  nlohmann::json columns;
  for (const char* column : {"op", "max_ns", "fired", "moved"}) {
    columns[column] = nlohmann::json::array();
  }
  for (const AdvanceCall& call : timeline) {
    columns["op"].push_back(call.op);
    columns["max_ns"].push_back(call.ns);
    columns["fired"].push_back(call.fired);
    columns["moved"].push_back(call.moved);
  }
  return columns;
}

}  // namespace

template <class Replay>
void Campaign::measure_once(Cell& cell, benchmark::State& state, Replay&& replay) {
  for (auto iteration : state) {
    (void)iteration;
    if (cell.failure.empty()) try {
        throw_if_interrupted();
        if (cell.backend.process) {
          throw CellFailure("skipped: it is another program, which this pass cannot look into");
        }
        prepare(cell.input);
        const Trace& trace = cell.input.variants().front();
        replay(QueueConfig{.capacity = trace.info().capacity, .granularity = granularity_}, trace);
        cell.checked = true;
      } catch (...) {
        cell.failure = current_failure();
      }
    if (!cell.failure.empty()) {
      state.SkipWithError(printable(cell.failure).c_str());
      return;
    }
    state.SetIterationTime(1e-9);  // the counters are the figures
  }
  state.SetLabel(fmt::format("{}, per {}", ranking(cell.backend.traits), cell.input.item()));
}

template <class Replay>
auto Campaign::replay_in_time(Cell& cell, Replay&& replay) {
  auto result = [&] {
    const TimeLimit limit = limit_replay(cell);
    return replay(limit.stop());
  }();
  check_time(cell, result.stopped);
  check_outcome(cell, 0, result.outcome);
  return result;
}

void Campaign::measure_tails(Cell& cell, benchmark::State& state) {
  measure_once(cell, state, [&](const QueueConfig& config, const Trace& trace) {
    LeastTimes least;
    Tails tails;
    for (int i = 0; i < kReplays; ++i) {
      Tails once = replay_in_time(cell, [&](const StopFlag& stop) {
        return cell.backend.replay_tails(config, trace.setup(), trace.measured(), least, stop);
      });
      once.advance += tails.advance;
      once.schedule += tails.schedule;
      once.cancel += tails.cancel;
      tails = std::move(once);
    }
    count(state, "advance", tails.advance);
    count(state, "schedule", tails.schedule);
    count(state, "cancel", tails.cancel);
    if (!tails.timeline.empty()) {  // otherwise no advance() was measured
      state.counters["worst_ns"] = tails.worst_advance.ns;
      state.counters["worst_fired"] = static_cast<double>(tails.worst_advance.fired);
      if (tails.explained) {
        state.counters["worst_moved"] = static_cast<double>(tails.worst_advance.moved);
        state.counters["worst_passed"] = static_cast<double>(tails.worst_advance.passed);
        state.counters["worst_level"] = static_cast<double>(tails.worst_advance.level);
      }
    }
    if (tails.worst_schedule > 0) state.counters["schedule_worst_ns"] = tails.worst_schedule;
    if (tails.worst_cancel > 0) state.counters["cancel_worst_ns"] = tails.worst_cancel;
    if (tails.most_queued) state.counters["most_queued"] = static_cast<double>(*tails.most_queued);
    state.counters["clock_ns"] = tails.clock_ns;
    tails_[cell.name].push_back(std::move(tails));
  });
}

nlohmann::json Campaign::distributions() const {
  nlohmann::json cells = nlohmann::json::object();
  for (const auto& [cell, rounds] : tails_) {
    for (const Tails& tails : rounds) {
      cells[cell].push_back({{"advance", tails.advance.to_json()},
                             {"schedule", tails.schedule.to_json()},
                             {"cancel", tails.cancel.to_json()},
                             {"timeline", to_json(tails.timeline)}});
    }
  }
  return cells;
}

void Campaign::measure_memory(Cell& cell, benchmark::State& state) {
  measure_once(cell, state, [&](const QueueConfig& config, const Trace& trace) {
    if (cell.backend.traits.remote) {
      throw CellFailure("skipped: its memory is that of another process");
    }
    const MemoryUse use = replay_in_time(cell, [&](const StopFlag& stop) {
      return cell.backend.replay_memory(config, trace.setup(), trace.measured(), stop);
    });
    const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
    state.counters["empty_bytes"] = number(use.empty);
    state.counters["peak_bytes"] = number(use.peak);
    if (use.most_pending > 0) {  // a control may have none
      state.counters["bytes_per_timer"] = number(use.at_most_pending) / number(use.most_pending);
    }
    state.counters["drained_bytes"] = number(use.drained);
    state.counters["allocations_per_item"] =
        number(use.made) / std::max(1.0, number(trace.info().items));
    state.counters["rss_bytes"] = number(use.resident);
    state.counters["huge_page_bytes"] = number(use.huge);
    state.counters["rss_drained_bytes"] = number(use.resident_drained);
  });
}

void Campaign::count_events(Cell& cell, benchmark::State& state) {
  measure_once(cell, state, [&](const QueueConfig& config, const Trace& trace) {
    if (cell.backend.traits.remote) {
      throw CellFailure("skipped: its work is done by another process");
    }
    PerfCounters counters(processor_events());
    if (counters.error() != 0) {
      throw CellFailure(fmt::format("unavailable: no perf counters here: {}; see timerbench doctor",
                                    std::strerror(counters.error())));
    }
    replay_in_time(cell, [&](const StopFlag& stop) {
      return cell.backend.time_replay(config, trace.setup(), trace.measured(), stop, &counters);
    });
    const auto counts = counters.counts();
    if (!counts) {
      throw CellFailure("unavailable: others use the perf counters, or there are too few at once");
    }
    for (const auto& [name, count] : *counts) {
      state.counters[fmt::format("{}_per_item", name)] =
          static_cast<double>(count) / std::max(1.0, static_cast<double>(trace.info().items));
    }
  });
}

void Campaign::replay_once(Cell& cell, benchmark::State& state) {
  measure_once(cell, state, [&](const QueueConfig& config, const Trace& trace) {
    replay_in_time(cell, [&](const StopFlag& stop) {
      return cell.backend.time_replay(config, trace.setup(), trace.measured(), stop, nullptr);
    });
    state.counters["items"] = static_cast<double>(trace.info().items);
  });
}

}  // namespace timerbench
