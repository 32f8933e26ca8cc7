// The exact audit of a run: what became of each timer, by the ledger.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "durable/worker.h"
#include "faults/survival_ledger.h"

namespace timerbench {

// What a run must keep, and by which rule its workers fire. What was armed after the last strike
// was mended must be kept under all terms.
struct SurvivalTerms {
  Kept kept;    // of what was acknowledged until then, by the promise of the engine
  Tick latest;  // how old what a strike takes is at most, if `kept` is but_the_latest
  Delivery delivery;
  std::uint64_t latest_calls = 0;  // and it may take so many, which were acknowledged last
};

struct Survival {
  std::uint64_t acknowledged = 0;  // and not cancelled
  std::uint64_t lost = 0;          // of these, never fired; 0 if the queue is not back
  bool is_back = true;             // workers were told that the queue holds nothing more
  std::uint64_t fired_twice = 0;   // of all timers, or more often
  std::uint64_t fired_without_acknowledgement = 0;
  std::uint64_t fired_after_cancel =
      0;                           // or handed out, though cancel() had said that it would not
  std::uint64_t failed_calls = 0;  // of schedule()
  double latest_seconds = 0;       // the most that a first firing came after its deadline
  double silent_seconds = 0;       // the longest time without a firing while one was due
  std::string breach{};            // how the run broke its terms; empty: it did not
};

// How often this has happened, and when the last entry was made.
std::uint64_t count(const SurvivalLedger& ledger, Happening what);
Tick last_time(const SurvivalLedger& ledger);

// Whether a worker was handed a timer whose handler has not begun.
bool is_any_waiting(const SurvivalLedger& ledger);

// How many timers are acknowledged, neither cancelled nor fired, and by their terms still to fire.
std::uint64_t missing(const SurvivalLedger& ledger, Delivery delivery);

Survival audit(const SurvivalLedger& ledger, const SurvivalTerms& terms);

// A run as a picture: counts in equal steps of time from its begin.
struct SurvivalTimeline {
  double step_seconds = 0;
  std::vector<std::uint32_t> asked{}, acknowledged{}, due{}, fired{};
  struct Strike {
    double begin;               // seconds since the begin of the run
    std::optional<double> end;  // when it was mended; nothing: it never was
  };
  std::vector<Strike> strikes{};
};

SurvivalTimeline timeline(const SurvivalLedger& ledger);

}  // namespace timerbench
