// timerbench verify: the contract, then random traces, for any backend.
#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/names.h"
#include "core/backend_error.h"
#include "system/stop.h"
#include "trace/trace.h"
#include "verify/audited_queue.h"
#include "verify/check.h"
#include "verify/contract.h"
#include "verify/differential.h"

namespace timerbench {
namespace {

// Whether the backend keeps the contract on the given trace; prints one line.
bool verify_on_trace(const Backend& backend, const Trace& trace, const Conditions& conditions) {
  const auto violation = find_violation(backend, trace, conditions, interrupted());
  if (interrupted()) return false;
  fmt::print(
      "{:<22} {}\n", backend.traits.name,
      violation ? "WRONG: " + *violation : fmt::format("ok: {} operations", trace.ops().size()));
  return !violation;
}

// Whether the backend keeps the contract in its scenarios and on random traces; prints one line, and
// a trace if it does not. `stage` says what is being done.
bool verify_by_contract(const Backend& backend, const VerifyOptions& options,
                        std::string_view& stage) {
  for (const Scenario& scenario : contract()) {
    if (interrupted()) return false;
    stage = scenario.name;
    scenario.run(backend);
  }
  stage = "random traces";
  const auto result = test_differentially(
      backend, options.seed, std::chrono::duration<double>(options.seconds), interrupted());
  if (result.counterexample) {
    const Counterexample& found = *result.counterexample;
    fmt::print("{:<22} WRONG: {}\n{}", backend.traits.name, found.violation,
               to_text(found, backend.traits.name, program_invocation_name));
    return false;
  }
  if (interrupted()) return false;
  fmt::print("{:<22} ok: {} scenarios, {} random traces, {} fires, {} empty wakeups\n",
             backend.traits.name, contract().size(), result.traces, result.fired,
             result.empty_wakeups);
  return true;
}

// Throws UsageError if a deadline could come to lie beyond the end of time.
void check_start(Tick start, const Trace& trace) {
  Tick reach = kMaxDelay;
  for (const Op op : trace.ops()) reach += op.id == kAdvance ? op.arg : 0;
  if (start > kNever - 1 - reach) {
    throw UsageError(fmt::format("--start {}: this trace must begin at {} at the latest", start,
                                 kNever - 1 - reach));
  }
}

bool verify(const Backend& backend, const std::optional<Trace>& trace,
            const VerifyOptions& options) {
  const std::string_view name = backend.traits.name;
  if (backend.is_control()) {
    fmt::print("{:<22} a control, promises nothing\n", name);
    return true;
  }
  std::string_view stage = "the trace";
  try {
    return trace ? verify_on_trace(backend, *trace, options.conditions)
                 : verify_by_contract(backend, options, stage);
  } catch (const ContractViolation& violation) {
    fmt::print("{:<22} WRONG: {} of bench/verify/contract.cc: {}\n", name, stage, violation.what());
  } catch (const BackendUnavailable& error) {
    fmt::print("{:<22} UNAVAILABLE: {}\n", name, error.what());
  } catch (const BackendError& error) {
    fmt::print("{:<22} ERROR: {}: {}\n", name, stage, error.what());
  }
  return false;
}

}  // namespace

void verify_backends(const VerifyOptions& options) {
  const auto chosen = find_backends(options.backends);
  std::optional<Trace> trace;
  if (!options.trace.empty()) {
    trace = load_trace(options.trace);
    check_start(options.conditions.start, *trace);
  }
  bool all_ok = true;
  for (const Backend* backend : chosen) {
    if (interrupted()) break;
    all_ok &= verify(*backend, trace, options);
    std::fflush(stdout);
  }
  if (interrupted()) throw std::runtime_error("interrupted; what is not listed was not verified");
  if (!all_ok) throw CommandFailed();
}

}  // namespace timerbench
