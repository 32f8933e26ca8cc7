// Cells, measured: each a backend replaying a trace, as a Google Benchmark.
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
#include "suites/cell_failure.h"
#include "system/memory_probe.h"
#include "trace/outcome.h"
#include "trace/trace.h"

namespace benchmark {
class State;
}

namespace timerbench {

// A workload at a size: one or several traces of it, made when they are first needed.
//
// Several, of different seeds, where they are short: a processor that meets the same thousand
// operations again and again learns their order by heart, and flatters whoever branches on it.
class Input {
 public:
  // Which backends it is for: those in this process, those in another, or both.
  enum class Reach { local, remote, both };

  // `bytes_needed`: roughly what making and replaying one takes. `make(variant)` is given 0 and, if
  // `seeded` and as long as that is little, 1, 2, ...
  Input(std::string workload, std::uint64_t size, Reach reach, std::uint64_t bytes_needed,
        bool seeded, std::function<Trace(std::size_t)> make);

  const std::string& workload() const { return workload_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t bytes_needed() const { return bytes_needed_; }
  Reach reach() const { return reach_; }
  bool is_for(const Backend& backend) const {
    return reach_ == Reach::both || (reach_ == Reach::remote) == backend.traits.remote;
  }

  // Makes the traces and what they must come to, unless that has been done. Throws what `make` does.
  void prepare();
  bool prepared() const { return !variants_.empty(); }
  void drop() { variants_.clear(); }

  // Empty unless prepared().
  const std::vector<Trace>& variants() const { return variants_; }

  // What its costs are per. REQUIRES: prepared().
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

// The most that one replay may take, setup included. The replays of a round may take some times
// as much for what is not measured of them.
struct ReplaySeconds {
  double local;
  double remote = local;  // of backends in another process

  double of(const Backend& backend) const { return backend.traits.remote ? remote : local; }
};

// What is measured of a cell. Never two at once: each disturbs the others.
// `once` is for tools that count from outside what a single replay does.
enum class Pass { total, tails, memory, counters, once };

// The cells of one run and how each is measured.
class Campaign {
 public:
  Campaign(std::string suite, Tick granularity, ReplaySeconds replay_seconds);

  // Makes every replay longer by so many percent: a control, that such a difference is found.
  void slow_down(double percent) { slow_down_ = percent; }

  // Before register_cells(); the total cost if it is not called. REQUIRES: of memory, that allocations
  // are counted in this program.
  void choose_pass(Pass pass) { pass_ = pass; }

  // Before register_cells(): the backend's cells have no figure, for this reason.
  void refuse(const Backend& backend, std::string failure) {
    refused_[&backend] = std::move(failure);
  }

  // Of the tails pass, whole distributions and timelines: {CELL: [{...}, ...]}, one of each round.
  nlohmann::json distributions() const;

  void add_input(Input input) { inputs_.push_back(std::move(input)); }

  // Registers a benchmark SUITE/WORKLOAD/SIZE/BACKEND for every input and each of the backends that
  // it is for, inputs outermost.
  // Nothing is made or measured yet. REQUIRES: this outlives the run.
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
    std::string failure{};  // not empty: why there is no figure, first the status
    bool checked = false;
    std::size_t turn = 0;  // the next replay's variant, modulo their number
    // By variant, what its first replay came to: that was audited fire by fire, and is what the
    // others must come to. Only of backends that need not be exact.
    std::vector<std::optional<Outcome>> audited{};
    // The replay that was checked, if it took so long that it needed no warm-up: the first
    // measurement. A shorter one is the warm-up.
    std::optional<Measurement> ready{};
  };

  void measure(Cell& cell, benchmark::State& state);
  void measure_cost(Cell& cell, benchmark::State& state);
  // Of the other passes: counters, from replays of the first variant.
  template <class Replay>
  void measure_once(Cell& cell, benchmark::State& state, Replay&& replay);
  // One replay of the first variant, within the time that one may take. Throws CellFailure.
  template <class Replay>
  auto replay_in_time(Cell& cell, Replay&& replay);
  void measure_tails(Cell& cell, benchmark::State& state);
  void measure_memory(Cell& cell, benchmark::State& state);
  void count_events(Cell& cell, benchmark::State& state);
  void replay_once(Cell& cell, benchmark::State& state);
  // Throws CellFailure if a replay did not do what it had to, or took too long.
  void check_outcome(Cell& cell, std::size_t variant, const Outcome& outcome);
  void check_time(const Cell& cell, bool stopped) const;
  void check_progress(const Cell& cell, const Measurement& so_far) const;
  void prepare(Input& input);
  // Checks the cell first, if that has not been done. Nothing if it has no figure, for the reason
  // that it then has. `so_far`: of this round.
  std::optional<Measurement> next_measurement(Cell& cell, const Measurement& so_far);
  void check(Cell& cell);
  Measurement checked_replay(Cell& cell);
  // The least disturbed of a few, where another one is cheap.
  Measurement undisturbed_replay(Cell& cell);
  // The smaller size at which the cell's backend timed out on this workload, or 0.
  std::uint64_t timed_out_below(const Cell& cell) const;

  std::string suite_;
  Tick granularity_;
  ReplaySeconds replay_seconds_;
  double slow_down_ = 0;  // percent
  Pass pass_ = Pass::total;
  std::map<std::string, std::vector<Tails>> tails_;  // by cell, of each round
  std::vector<Input> inputs_;
  std::vector<Cell> cells_;
  std::map<const Backend*, std::string> refused_;
  Input* prepared_ = nullptr;
  MemoryProbe memory_probe_;
};

}  // namespace timerbench
