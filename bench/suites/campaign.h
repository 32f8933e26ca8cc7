// Measures cells. In each cell a backend replays a trace, as a Google Benchmark.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/backend.h"
#include "suites/audit_cache.h"
#include "suites/cell_failure.h"
#include "system/memory_probe.h"
#include "system/stop.h"
#include "trace/outcome.h"
#include "trace/trace.h"

namespace benchmark {
class State;
}

namespace timerbench {

struct ToldReplay;

// A workload at a size: one or several traces of it, made on first use.
//
// Short traces come in several variants with different seeds. A processor that meets the same
// thousand operations again and again learns their order, which flatters code with many branches.
class Input {
 public:
  // The backends that replay it: those in this process, those in another, or both.
  enum class Reach { local, remote, both };

  // `bytes_needed`: roughly what making and replaying one trace takes. `make(variant)` is called
  // with 0, then, if `seeded`, with 1, 2, ... until the traces have enough operations together.
  Input(std::string workload, std::uint64_t size, Reach reach, std::uint64_t bytes_needed,
        bool seeded, std::function<Trace(std::size_t)> make);

  const std::string& workload() const { return workload_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t bytes_needed() const { return bytes_needed_; }
  Reach reach() const { return reach_; }
  bool is_for(const Backend& backend) const {
    return reach_ == Reach::both || (reach_ == Reach::remote) == backend.traits.remote;
  }

  // Makes the traces and their expected outcomes, if not yet made. Throws what `make` throws.
  void prepare();
  bool prepared() const { return !variants_.empty(); }
  void drop() { variants_.clear(); }

  // Empty unless prepared().
  const std::vector<Trace>& variants() const { return variants_; }

  // The unit of its costs. REQUIRES: prepared().
  const std::string& item() const { return variants_.front().info().item; }

 private:
  std::string workload_;
  std::uint64_t size_;
  Reach reach_;
  std::uint64_t bytes_needed_;
  bool seeded_;
  std::function<Trace(std::size_t)> make_;
  std::vector<Trace> variants_;
};

// The most time that one replay may take, setup included. The unmeasured parts of a round's replays
// may together take a few times as much.
struct ReplaySeconds {
  double local;
  double remote = local;  // of backends in another process

  double of(const Backend& backend) const { return backend.traits.remote ? remote : local; }
};

// What a run measures of each cell. One pass at a time, since each would disturb the others. `once`
// makes a single replay, for tools that count its events from outside.
enum class Pass { total, tails, memory, counters, once };

// The cells of one run.
class Campaign {
 public:
  Campaign(std::string suite, Tick granularity, ReplaySeconds replay_seconds);

  // A control: lengthens every replay by this percentage, to test whether comparisons find it.
  void slow_down(double percent) { slow_down_ = percent; }

  // The default is the total cost. REQUIRES: called before register_cells(); for the memory pass,
  // allocations_are_counted().
  void choose_pass(Pass pass) { pass_ = pass; }

  // Replays with an outcome that was audited before need no audit. The default audits each anew.
  void keep_audits(AuditCache audits) { audits_ = std::move(audits); }

  // The backend's cells get this failure and no figure. REQUIRES: called before register_cells().
  void refuse(const Backend& backend, std::string failure) {
    refused_[&backend] = std::move(failure);
  }

  // The distributions and timelines of the tails pass: {CELL: [{...}, ...]}, one for each round.
  nlohmann::json distributions() const;

  void add_input(Input input) { inputs_.push_back(std::move(input)); }

  // Registers a benchmark SUITE/WORKLOAD/SIZE/BACKEND for every input and each of its backends,
  // inputs outermost. Does not make or measure anything yet. REQUIRES: this outlives the run.
  void register_cells(const std::vector<const Backend*>& backends);

  std::vector<Input>& inputs() { return inputs_; }
  std::string cell_name(const Input& input, const Backend& backend) const;
  std::size_t cells() const { return cells_.size(); }

  CellCounts counts() const;

 private:
  struct Measurement {
    std::chrono::duration<double> elapsed;
    std::chrono::duration<double> unmeasured;  // setup, destruction and checks
    std::uint64_t items;
    Disturbance disturbance;

    bool is_disturbed() const { return disturbance.spoils(elapsed); }
  };

  struct Cell {
    Input& input;
    const Backend& backend;
    std::string name;
    std::string failure{};  // if not empty, why there is no figure; the status comes first
    bool checked = false;
    std::size_t turn = 0;  // the next replay's variant, modulo their number
    // By variant, the outcome of its first replay, which was audited fire by fire, or had the
    // outcome of one that was. Later replays must have the same outcome. Only for backends that
    // need not be exact.
    std::vector<std::optional<Outcome>> audited{};
    // The first measurement, if the checked replay was long enough to need no warm-up. A shorter
    // checked replay is the warm-up.
    std::optional<Measurement> ready{};
  };

  void measure(Cell& cell, benchmark::State& state);
  void measure_cost(Cell& cell, benchmark::State& state);
  // Measures the counters of the other passes by replays of the first variant.
  template <class Replay>
  void measure_once(Cell& cell, benchmark::State& state, Replay&& replay);
  // Makes one replay of the first variant within the time limit. Throws CellFailure.
  template <class Replay>
  auto replay_in_time(Cell& cell, Replay&& replay);
  void measure_tails(Cell& cell, benchmark::State& state);
  void measure_memory(Cell& cell, benchmark::State& state);
  void count_events(Cell& cell, benchmark::State& state);
  void replay_once(Cell& cell, benchmark::State& state);
  // Throw CellFailure if a replay has a wrong outcome or took too long.
  void check_outcome(Cell& cell, std::size_t variant, const Outcome& outcome);
  void check_time(const Cell& cell, bool stopped) const;
  // Throw CellFailure if a replay breaks the contract, or another program tells wrong counts.
  void check_fires(const Cell& cell, const Trace& trace) const;
  void check_counts(Cell& cell, std::size_t variant, const ToldReplay& told);
  void check_progress(const Cell& cell, const Measurement& so_far) const;
  TimeLimit limit_replay(const Cell& cell) const;
  void prepare(Input& input);
  // Checks the cell first, if not yet checked. Returns nothing if the cell has failed; its
  // `failure` says why. `so_far`: the measurements of this round.
  std::optional<Measurement> next_measurement(Cell& cell, const Measurement& so_far);
  void check(Cell& cell);
  Measurement checked_replay(Cell& cell);
  // Of another program: checks the fires of every variant the first time, then lets it replay all of
  // them in turn. The figure is the median of the replays' second half, when what warms up is warm.
  Measurement replays_by_process(Cell& cell);
  // Returns the least disturbed of a few replays, if repeating is cheap.
  Measurement undisturbed_replay(Cell& cell);
  // The smaller size at which this backend timed out on this workload, or 0.
  std::uint64_t timed_out_below(const Cell& cell) const;

  std::string suite_;
  Tick granularity_;
  ReplaySeconds replay_seconds_;
  double slow_down_ = 0;  // percent
  AuditCache audits_;
  Pass pass_ = Pass::total;
  std::map<std::string, std::vector<Tails>> tails_;  // by cell, one for each round
  std::vector<Input> inputs_;
  std::vector<Cell> cells_;
  std::map<const Backend*, std::string> refused_;
  Input* prepared_ = nullptr;
  MemoryProbe memory_probe_;
};

}  // namespace timerbench
