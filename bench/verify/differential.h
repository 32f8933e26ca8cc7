// Random traces against the audit, and the smallest one that fails.
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

// The operations as a CSV, and the command lines of `program` that check a backend on them again.
std::string to_text(const Counterexample& found, std::string_view backend,
                    std::string_view program);

struct DifferentialResult {
  std::uint64_t traces = 0;
  std::uint64_t fired = 0;
  std::uint64_t empty_wakeups = 0;  // of a driver that sleeps to next_wakeup()
  std::optional<Counterexample> counterexample;
};

// Replays random traces under AuditedQueue until `seconds` have passed, at least one, or until one
// fails, which is then shrunk (RapidCheck) to a few operations. The same seed tries the same traces
// in the same order. Passes on what the backend throws but ContractViolation.
DifferentialResult test_differentially(const Backend& backend, std::uint64_t seed,
                                       std::chrono::duration<double> seconds, const StopFlag& stop);

}  // namespace timerbench
