// Replays random traces under audit, and shrinks the first one that fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/backend.h"
#include "system/stop.h"
#include "trace/op.h"
#include "verify/audited_queue.h"

namespace timerbench {

struct Counterexample {
  std::vector<Op> ops;
  Conditions conditions;
  TraceViolation violation;
};

// The operations as CSV, and command lines of `program` that check the backend on them again.
std::string to_text(const Counterexample& found, std::string_view backend,
                    std::string_view program);

struct DifferentialResult {
  std::uint64_t traces = 0;
  std::uint64_t fired = 0;
  std::uint64_t empty_wakeups = 0;  // of a driver that sleeps until next_wakeup()
  std::optional<Counterexample> counterexample;
};

// Replays random traces under AuditedQueue, at least one (of another program 20), until `seconds` have
// passed or one fails.
// RapidCheck shrinks that one to a few operations. The same seed gives the same traces in the same
// order. Passes on what the backend throws, except ContractViolation.
DifferentialResult test_differentially(const Backend& backend, std::uint64_t seed,
                                       std::chrono::duration<double> seconds, const StopFlag& stop);

}  // namespace timerbench
