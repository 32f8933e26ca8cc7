// The suite `faults`: what durable timers survive. A size is a number of runs; each has a seed of its
// own, which counts on from that of the command line. A fault that strikes again and again does so for
// the time of a cell (--seconds).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engines/scoped_variable.h"
#include "faults/fault.h"
#include "suites/cell_failure.h"
#include "suites/median.h"
#include "suites/realtime_suite.h"
#include "system/stop.h"
#include "system/temporary_folder.h"

namespace timerbench {
namespace {

// An engine for some runs, on a disk whose power can be cut and in a network that can be parted, if
// the fault needs them.
class BreakableEngine {
 public:
  BreakableEngine(const Fault& fault, const DurableContender& contender) {
    // What is private can be broken, and reached in a network of its own.
    const bool is_private = !contender.is_of_user();
    if (fault.needs_disk && is_private) {
      if (const std::string reason = LoopDisk::unavailable(); !reason.empty()) {
        throw CellFailure("skipped: " + reason);
      }
      disk_ = std::make_unique<LoopDisk>();
    }
    const bool wants_network = is_private && (fault.needs_network || fault.breaks_connections);
    const std::string no_network = wants_network ? make_network() : "";
    if (fault.needs_network && !no_network.empty()) throw CellFailure("skipped: " + no_network);
    // Where private servers make their folders.
    const ScopedVariable here("TMPDIR",
                              disk_ ? disk_->path() : std::filesystem::temp_directory_path());
    files_.emplace("timerbench-faults");
    engine_ = contender.start(files_->path());
    if (disk_) disk_->synchronise();  // an engine is set up long before its power is cut
    if (const auto reason = left_out(fault, *engine_, contender.traits); !reason.empty()) {
      throw CellFailure(fmt::format("skipped: {}", reason));
    }
    if (fault.breaks_connections && engine_->sockets().empty() && network_ == nullptr) {
      throw CellFailure("skipped: " + no_network);
    }
  }

  DurableEngine& engine() { return *engine_; }
  LoopDisk* disk() { return disk_.get(); }
  OwnNetwork* network() { return network_.get(); }

 private:
  // Returns why there is none; empty: there is one.
  std::string make_network() {
    try {
      if (std::string reason = OwnNetwork::unavailable(); !reason.empty()) return reason;
      network_ = std::make_unique<OwnNetwork>();
      return "";
    } catch (const BackendUnavailable& error) {
      return error.what();
    }
  }

  std::unique_ptr<LoopDisk> disk_;
  std::unique_ptr<OwnNetwork> network_;
  std::optional<TemporaryFolder> files_;
  std::unique_ptr<DurableEngine> engine_;
};

struct FaultRun {
  std::uint64_t seed = 0;
  Survival survival{};
  double seconds = 0;  // for which a repeated fault strikes
  SurvivalTimeline timeline{};
  std::string no_start{};  // why the engine did not start again; empty: it did

  // Runs that tell more are larger.
  auto rank() const {
    return std::tuple(!survival.breach.empty(), !no_start.empty(), survival.lost,
                      survival.fired_after_cancel, survival.fired_twice, survival.silent_seconds);
  }
};

class Runs {
 public:
  void add(FaultRun run) {
    const Survival& one = run.survival;
    total_.acknowledged += one.acknowledged;
    total_.lost += one.lost;
    total_.fired_twice += one.fired_twice;
    total_.fired_without_acknowledgement += one.fired_without_acknowledgement;
    total_.fired_after_cancel += one.fired_after_cancel;
    total_.failed_calls += one.failed_calls;
    const auto raise = [&](double& most, std::uint64_t& seed, double seconds) {
      if (count_ > 0 && seconds <= most) return;
      most = seconds;
      seed = run.seed;
    };
    raise(total_.latest_seconds, latest_seed_, one.latest_seconds);
    raise(total_.silent_seconds, silent_seed_, one.silent_seconds);
    silent_seconds_.push_back(one.silent_seconds);
    breaches_ += one.breach.empty() ? 0 : 1;
    no_starts_ += run.no_start.empty() ? 0 : 1;
    not_back_ += one.is_back ? 0 : 1;
    lossy_ += one.lost > 0 ? 1 : 0;
    if (count_++ == 0 || run.rank() > worst_.rank()) worst_ = std::move(run);
  }

  // How the worst run broke the promise, with its seed; empty if none did.
  std::string breach() const {
    if (breaches_ == 0) return "";
    return fmt::format("{} (seed {})", worst_.survival.breach, worst_.seed);
  }

  // A run that told nothing, so another takes its place.
  void add_disturbed() { ++disturbed_; }

  RealtimeFigures figures(Kept promised, double seconds) const {
    const auto count = [](std::uint64_t value) { return static_cast<double>(value); };
    RealtimeFigures figures{
        .seconds = seconds,
        .label = fmt::format("{}, per timer", ranking(promised)),
        .summary = summary(promised),
        .counters = {{"runs", count(count_)},
                     {"breaches", count(breaches_)},
                     {"no_starts", count(no_starts_)},
                     {"not_back", count(not_back_)},
                     {"lossy", count(lossy_)},
                     {"disturbed", count(disturbed_)},
                     {"acknowledged", count(total_.acknowledged)},
                     {"lost", count(total_.lost)},
                     {"fired_twice", count(total_.fired_twice)},
                     {"fired_without_acknowledgement", count(total_.fired_without_acknowledgement)},
                     {"fired_after_cancel", count(total_.fired_after_cancel)},
                     {"failed_calls", count(total_.failed_calls)},
                     {"latest_seconds", total_.latest_seconds},
                     {"silent_seconds", total_.silent_seconds},
                     {"latest_seed", count(latest_seed_)},
                     {"silent_seed", count(silent_seed_)},
                     {"median_silent_seconds", median(silent_seconds_)},
                     {"worst_seed", count(worst_.seed)}}};
    figures.timeline = std::make_shared<nlohmann::json>(timeline());
    return figures;
  }

 private:
  std::string summary(Kept promised) const {
    std::string text = fmt::format(
        "{:>5} of {:<6} lost  {:>4} twice  {:>4} after cancel  latest {:.2f} s  silent {:.2f} s",
        total_.lost, total_.acknowledged, total_.fired_twice, total_.fired_after_cancel,
        total_.latest_seconds, total_.silent_seconds);
    if (no_starts_ > 0) {
      text += fmt::format("  does not start again in {} of {} runs: {}", no_starts_, count_,
                          worst_.no_start);
    }
    if (breaches_ > 0) {
      text += fmt::format("  BROKEN in {} of {} runs ({}): {}", breaches_, count_,
                          ranking(promised), breach());
    }
    return text;
  }

  // Of the run that tells the most.
  nlohmann::json timeline() const {
    const SurvivalTimeline& line = worst_.timeline;
    nlohmann::json strikes = nlohmann::json::array();
    for (const auto& [begin, end] : line.strikes) {
      strikes.push_back({begin, end ? nlohmann::json(*end) : nlohmann::json()});
    }
    return {{"seed", worst_.seed},
            {"seconds", worst_.seconds},
            {"breach", worst_.survival.breach},
            {"no_start", worst_.no_start},
            {"acknowledged_timers", worst_.survival.acknowledged},
            {"lost_timers", worst_.survival.lost},
            {"step_seconds", line.step_seconds},
            {"strikes", strikes},
            {"asked", line.asked},
            {"acknowledged", line.acknowledged},
            {"due", line.due},
            {"fired", line.fired}};
  }

  Survival total_{};
  std::uint64_t count_ = 0, breaches_ = 0, no_starts_ = 0, not_back_ = 0;
  std::uint64_t lossy_ = 0;  // runs that lost a timer
  std::uint64_t disturbed_ = 0;
  std::vector<double> silent_seconds_{};             // of each run
  std::uint64_t latest_seed_ = 0, silent_seed_ = 0;  // of the runs with the most
  FaultRun worst_{};
};

// Adds the runs to `result`.
void run_all(const Fault& fault, const DurableContender& contender, std::uint64_t runs,
             const RealtimeOptions& options, const SurvivalTerms& terms, Runs& result) {
  const auto striking = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(options.seconds));
  std::optional<BreakableEngine> breakable;
  constexpr std::uint64_t kMostDisturbed = 3;  // in a row
  constexpr std::uint64_t kOtherSeeds = 1'000'000'000;
  std::uint64_t disturbed = 0;
  for (std::uint64_t i = 0; i < runs;) {
    throw_if_interrupted();
    if (!breakable) breakable.emplace(fault, contender);
    SurvivalLedger ledger;
    FaultRun run{.seed = options.seed + i + disturbed * kOtherSeeds, .seconds = options.seconds};
    try {
      run_fault(fault, breakable->engine(), contender.traits, breakable->disk(),
                breakable->network(), fmt::format("run_{}", run.seed), run.seed, striking, ledger,
                interrupted());
    } catch (const DoesNotStartAgain& error) {  // all that it held is lost
      run.no_start = error.what();
    } catch (const DisturbedRun&) {
      if (++disturbed == kMostDisturbed) throw;
      result.add_disturbed();
      breakable.reset();
      continue;
    }
    disturbed = 0;
    ++i;
    run.survival = audit(ledger, terms);
    if (!run.no_start.empty()) {
      if (terms.kept != Kept::none) run.survival.breach = "it does not start again";
    }
    if (!run.no_start.empty() || !run.survival.is_back) breakable.reset();
    run.timeline = timeline(ledger);
    result.add(std::move(run));
  }
}

RealtimeFigures measure(const Fault& fault, const DurableContender& contender, std::uint64_t runs,
                        const RealtimeOptions& options) {
  const SurvivalTerms terms = terms_of(fault, contender.traits);
  const auto begin = std::chrono::steady_clock::now();
  Runs result;
  try {
    run_all(fault, contender, runs, options, terms, result);
  } catch (const BackendError& error) {
    if (result.breach().empty()) throw;
    throw CellFailure(
        fmt::format("wrong: {}; and a later run failed: {}", result.breach(), error.what()));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return result.figures(terms.kept, seconds.count());
}

}  // namespace

DurableSuite faults_suite() {
  DurableSuite suite{.name = "faults",
                     .summary =
                         "durable timers while something breaks: what is lost, and what "
                         "fires twice or late",
                     .size_is = "runs",
                     .largest_size = 10'000,
                     .scenarios = {},
                     .rounds = 1,
                     .seconds = 20};
  for (const Fault& fault : faults()) {
    suite.scenarios.push_back(
        {.name = std::string(fault.name),
         .summary = std::string(fault.summary),
         .sizes = {5},
         .measure = [&fault](const DurableContender& contender, std::uint64_t runs,
                             const RealtimeOptions& options) {
           return measure(fault, contender, runs, options);
         }});
  }
  return suite;
}

}  // namespace timerbench
