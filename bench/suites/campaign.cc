#include "suites/campaign.h"

#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "process/process_peer.h"
#include "suites/trace_cache.h"
#include "system/machine.h"
#include "system/stop.h"
#include "trace/excerpt.h"
#include "verify/check.h"

namespace timerbench {
namespace {

// Operations that exceed what a processor learns. The variants reach it together at every size.
constexpr std::size_t kManyOps = 1 << 16;
constexpr std::size_t kMostVariants = 32;

// The unmeasured parts of a round's replays may take this many times the limit of one replay.
constexpr double kUnmeasuredReplays = 3;

// A replay this long, setup included, needs no warm-up, since its start serves as one. It is not
// repeated if disturbed; programs that run campaigns decide about that.
constexpr std::chrono::milliseconds kLongReplay{100};

// How long another program replays, so that what warms up is warm in the second half.
constexpr std::chrono::seconds kProcessTime{2};

// The most attempts at an undisturbed short replay.
constexpr int kMostAttempts = 4;

// Waits for this percentage of `elapsed`, and returns the lengthened time.
std::chrono::nanoseconds lengthened(std::chrono::nanoseconds elapsed, double percent) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const std::chrono::duration<double, std::nano> wait(static_cast<double>(elapsed.count()) *
                                                      percent / 100);
  while (Clock::now() - start < wait) continue;
  return elapsed + (Clock::now() - start);
}

}  // namespace

Input::Input(std::string workload, std::uint64_t size, Reach reach, std::uint64_t bytes_needed,
             bool seeded, std::function<Trace(std::size_t)> make)
    : workload_(std::move(workload)),
      size_(size),
      reach_(reach),
      bytes_needed_(bytes_needed),
      seeded_(seeded),
      make_(std::move(make)) {}

void Input::prepare() {
  if (prepared()) return;
  std::size_t ops = 0;
  do {
    variants_.push_back(make_(variants_.size()));
    compute_expected_outcome(variants_.back());
    ops += variants_.back().ops().size();
  } while (seeded_ && ops < kManyOps && variants_.size() < kMostVariants);
}

Campaign::Campaign(std::string suite, Tick granularity, ReplaySeconds replay_seconds)
    : suite_(std::move(suite)), granularity_(granularity), replay_seconds_(replay_seconds) {}

void Campaign::register_cells(const std::vector<const Backend*>& backends) {
  cells_.reserve(inputs_.size() * backends.size());  // the benchmarks keep references
  for (Input& input : inputs_) {
    for (const Backend* backend : backends) {
      if (!input.is_for(*backend)) continue;
      cells_.push_back({input, *backend, cell_name(input, *backend)});
      Cell& cell = cells_.back();
      if (const auto refused = refused_.find(backend); refused != refused_.end()) {
        cell.failure = refused->second;
      }
      auto* registered = benchmark::RegisterBenchmark(
          cell.name.c_str(), [this, &cell](benchmark::State& state) { measure(cell, state); });
      registered->UseManualTime();
      if (pass_ != Pass::total || backend->process) registered->Iterations(1);
    }
  }
}

std::string Campaign::cell_name(const Input& input, const Backend& backend) const {
  return fmt::format("{}/{}/{}/{}", suite_, printable(input.workload()), input.size(),
                     backend.traits.name);
}

void Campaign::measure(Cell& cell, benchmark::State& state) {
  switch (pass_) {
    case Pass::total: return measure_cost(cell, state);
    case Pass::tails: return measure_tails(cell, state);
    case Pass::memory: return measure_memory(cell, state);
    case Pass::counters: return count_events(cell, state);
    case Pass::once: return replay_once(cell, state);
  }
}

void Campaign::measure_cost(Cell& cell, benchmark::State& state) {
  Measurement total{};
  const auto memory_before = memory_probe_.read_ns();
  for (auto iteration : state) {
    (void)iteration;
    // Within the loop, since Google Benchmark counts iterations from here on. It aborts if a later
    // round of a failed cell has a different number of iterations.
    const auto measured = next_measurement(cell, total);
    if (!measured) {
      state.SkipWithError(printable(cell.failure).c_str());  // JSON needs valid text
      return;
    }
    state.SetIterationTime(measured->elapsed.count());
    total.elapsed += measured->elapsed;
    total.unmeasured += measured->unmeasured;
    total.items += measured->items;
    total.disturbance += measured->disturbance;
  }
  const auto items = static_cast<double>(std::max<std::uint64_t>(1, total.items));
  state.counters["items"] = items / static_cast<double>(state.iterations());
  state.counters["ns_per_item"] = total.elapsed.count() * 1e9 / items;
  state.counters["away_share"] =
      std::chrono::duration<double>(total.disturbance.away).count() / total.elapsed.count();
  state.counters["disturbed"] = total.is_disturbed() ? 1 : 0;
  state.counters["switches"] = static_cast<double>(total.disturbance.switches);
  state.counters["migrations"] = static_cast<double>(total.disturbance.migrations);
  state.counters["major_faults"] = static_cast<double>(total.disturbance.faults);
  if (const auto worse = std::max(memory_before, memory_probe_.read_ns())) {
    state.counters["memory_probe_ns"] = *worse;
  }
  state.SetLabel(fmt::format("{}, per {}", ranking(cell.backend.traits), cell.input.item()));
}

// Google Benchmark repeats a measurement until it has taken long enough. It would practically never
// end if each took 50 ns after seconds of setup.
void Campaign::check_progress(const Cell& cell, const Measurement& so_far) const {
  const double limit = kUnmeasuredReplays * replay_seconds_.of(cell.backend);
  if (so_far.unmeasured.count() <= limit) return;
  throw CellFailure(
      fmt::format("timeout: too little to measure: {:.2g} s, with {:.2g} s of setup around it",
                  so_far.elapsed.count(), so_far.unmeasured.count()));
}

std::optional<Campaign::Measurement> Campaign::next_measurement(Cell& cell,
                                                                const Measurement& so_far) {
  if (!cell.failure.empty()) return std::nullopt;
  try {
    throw_if_interrupted();
    check_progress(cell, so_far);
    if (const std::uint64_t size = cell.checked ? 0 : timed_out_below(cell)) {
      throw CellFailure(fmt::format("skipped: timeout at size {} already", size));
    }
    prepare(cell.input);
    if (cell.backend.process) return replays_by_process(cell);
    if (!cell.checked) check(cell);
    if (const auto ready = std::exchange(cell.ready, std::nullopt)) return ready;
    return undisturbed_replay(cell);
  } catch (...) {
    cell.failure = current_failure();
  }
  return std::nullopt;
}

// Keeps one input's traces at a time: inputs are outermost, and the largest take gigabytes.
void Campaign::prepare(Input& input) {
  if (!input.prepared()) {
    if (prepared_) prepared_->drop();
    prepared_ = &input;
    require_memory(input.bytes_needed(), fmt::format("size {}", input.size()));
  }
  input.prepare();
}

void Campaign::check(Cell& cell) {
  const Measurement first = checked_replay(cell);
  cell.checked = true;
  if (first.elapsed + first.unmeasured >= kLongReplay) {
    cell.ready = first;
  } else {
    cell.turn = 0;
  }
}

Campaign::Measurement Campaign::undisturbed_replay(Cell& cell) {
  const std::size_t turn = cell.turn;
  Measurement best = checked_replay(cell);
  if (cell.backend.traits.remote) return best;  // a round trip always includes waiting
  std::chrono::duration<double> unmeasured = best.unmeasured;
  for (int attempt = 1; attempt < kMostAttempts && best.is_disturbed(); ++attempt) {
    if (best.elapsed + best.unmeasured >= kLongReplay) break;
    cell.turn = turn;
    const Measurement other = checked_replay(cell);
    unmeasured += other.elapsed + other.unmeasured;
    if (!other.is_disturbed() || other.disturbance.away < best.disturbance.away) best = other;
  }
  best.unmeasured = unmeasured;
  return best;
}

Campaign::Measurement Campaign::checked_replay(Cell& cell) {
  const std::size_t variant = cell.turn++ % cell.input.variants().size();
  const Trace& trace = cell.input.variants()[variant];
  const auto start = std::chrono::steady_clock::now();
  TimedReplay replay;
  {
    const TimeLimit limit = limit_replay(cell);
    replay =
        cell.backend.time_replay({.capacity = trace.info().capacity, .granularity = granularity_},
                                 trace.setup(), trace.measured(), limit.stop(), nullptr);
  }
  check_time(cell, replay.stopped);
  if (slow_down_ > 0) replay.elapsed = lengthened(replay.elapsed, slow_down_);
  check_outcome(cell, variant, replay.outcome);
  const auto unmeasured = std::chrono::steady_clock::now() - start - replay.elapsed;
  return {replay.elapsed, unmeasured, trace.info().items, replay.disturbance};
}

Campaign::Measurement Campaign::replays_by_process(Cell& cell) {
  const auto start = std::chrono::steady_clock::now();
  const ProcessPeer& process = *cell.backend.process;
  const std::vector<Trace>& traces = cell.input.variants();
  const ProcessPeer::Seconds limit(replay_seconds_.of(cell.backend));
  if (!cell.checked && !cell.backend.is_control()) {
    for (const Trace& trace : traces) check_fires(cell, trace);
  }
  cell.checked = true;

  const auto replays = process.replay(traces, granularity_, kProcessTime, limit, interrupted());
  std::vector<double> costs;  // ns an item
  std::uint64_t items = 0;
  for (std::size_t i = 0; i < replays.size(); ++i) {
    const std::size_t variant = i % traces.size();
    const TraceInfo& info = traces[variant].info();
    const ToldReplay& told = replays[i];
    check_counts(cell, variant, told);
    if (i < replays.size() / 2) continue;
    costs.push_back(static_cast<double>(told.elapsed_ns) /
                    static_cast<double>(std::max<std::uint64_t>(1, info.items)));
    items += info.items;
  }
  const auto middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
  std::ranges::nth_element(costs, middle);
  const std::chrono::duration<double, std::nano> elapsed(*middle * static_cast<double>(items) *
                                                         (1 + slow_down_ / 100));
  return {elapsed, std::chrono::steady_clock::now() - start - elapsed, items, {}};
}

void Campaign::check_counts(Cell& cell, std::size_t variant, const ToldReplay& told) {
  if (cell.backend.is_control()) return;
  const Outcome counts{.fired = told.fired, .cancelled = told.cancelled, .pending = told.pending};
  cell.audited.resize(cell.input.variants().size());
  std::optional<Outcome>& usual = cell.audited[variant];
  if (!usual) {
    usual = counts;
    if (must_be_exact(cell.backend.traits, granularity_)) {
      usual = cell.input.variants()[variant].info().outcome;
      usual->digest = 0;  // it does not tell one
    }
  }
  if (counts == usual) return;
  throw CellFailure(fmt::format(
      "wrong: a timed replay has {} fired, {} cancelled and {} pending instead of {}, {} "
      "and {}",
      counts.fired, counts.cancelled, counts.pending, usual->fired, usual->cancelled,
      usual->pending));
}

TimeLimit Campaign::limit_replay(const Cell& cell) const {
  const bool waits = cell.backend.traits.remote;
  return {replay_seconds_.of(cell.backend),
          waits ? TimeLimit::Of::wall_time : TimeLimit::Of::processor_time};
}

void Campaign::check_time(const Cell& cell, bool stopped) const {
  if (!stopped) return;
  throw_if_interrupted();
  throw CellFailure(
      fmt::format("timeout: one replay takes more than {} s", replay_seconds_.of(cell.backend)));
}

void Campaign::check_fires(const Cell& cell, const Trace& trace) const {
  const auto violation =
      find_violation(cell.backend, trace, {.granularity = granularity_}, interrupted());
  throw_if_interrupted();
  if (violation) throw CellFailure(fmt::format("wrong: {}", violation->text));
}

void Campaign::check_outcome(Cell& cell, std::size_t variant, const Outcome& outcome) {
  const Backend& backend = cell.backend;
  if (backend.is_control()) return;
  const Trace& trace = cell.input.variants()[variant];
  const bool exact = must_be_exact(backend.traits, granularity_);
  cell.audited.resize(cell.input.variants().size());
  std::optional<Outcome>& audited = cell.audited[variant];
  if (outcome == (exact ? trace.info().outcome : audited)) return;
  if (audited) throw CellFailure("wrong: its outcome differs from replay to replay");
  if (exact || outcome != audits_.find(trace, backend, granularity_)) {
    check_fires(cell, trace);
    if (exact) throw CellFailure("wrong: its outcome is not the model's");
    audits_.keep(outcome, trace, backend, granularity_);
  }
  audited = outcome;
}

CellCounts Campaign::counts() const {
  CellCounts counts;
  for (const Cell& cell : cells_) {
    if (!cell.failure.empty()) {
      counts.add_failure(cell.failure);
    } else if (cell.checked) {
      ++counts.measured;
    }
  }
  return counts;
}

std::uint64_t Campaign::timed_out_below(const Cell& cell) const {
  for (const Cell& other : cells_) {
    if (&other.backend == &cell.backend && other.input.workload() == cell.input.workload() &&
        other.input.size() < cell.input.size() && other.failure.starts_with("timeout")) {
      return other.input.size();
    }
  }
  return 0;
}

}  // namespace timerbench
