#include "verify/verification.h"

#include <errno.h>
#include <fmt/format.h>

#include <functional>
#include <span>
#include <string>

#include "verify/check.h"
#include "verify/contract.h"
#include "verify/differential.h"
#include "verify/violation.h"

namespace timerbench {
namespace {

std::string last_calls(const std::string& calls) {
  return "  the last calls, of which the last went wrong:\n" + calls;
}

Verdict judge_trace(const Backend& backend, const Trace& trace, const Conditions& conditions) {
  const auto violation = find_violation(backend, trace, conditions, interrupted());
  if (interrupted()) return {};
  if (violation) {
    return {false, fmt::format("WRONG: {}", violation->text), last_calls(violation->calls)};
  }
  return {true, fmt::format("ok: {} operations", trace.ops().size())};
}

Verdict judge_contract(const Backend& backend, std::uint64_t seed,
                       std::chrono::duration<double> random_traces, Progress& progress) {
  // Scenarios are single calls, and another program replays whole traces.
  const auto scenarios = backend.process ? std::span<const ContractScenario>() : contract();
  for (const ContractScenario& scenario : scenarios) {
    if (interrupted()) return {};
    progress.begin(scenario.name);
    try {
      scenario.run(backend);
    } catch (const ContractViolation& violation) {
      return {
          false,
          fmt::format("WRONG: {} of bench/verify/contract.cc: {}", scenario.name, violation.what()),
          last_calls(violation.calls)};
    }
  }
  progress.begin("random traces");
  const auto result = test_differentially(backend, seed, random_traces, interrupted());
  if (interrupted()) return {};
  if (result.counterexample) {
    const Counterexample& found = *result.counterexample;
    return {false, fmt::format("WRONG: {}", found.violation.text),
            last_calls(found.violation.calls) +
                to_text(found, backend.traits.name, program_invocation_name)};
  }
  if (backend.process) {
    return {true, fmt::format("ok: {} random traces, {} fires", result.traces, result.fired)};
  }
  return {true, fmt::format("ok: {} scenarios, {} random traces, {} fires, {} empty wakeups",
                            scenarios.size(), result.traces, result.fired, result.empty_wakeups)};
}

Verdict verify_isolated(const Backend& backend, const Judge& judge, const ShowStage& show) {
  if (backend.is_control()) return {true, "a control, promises nothing"};
  return judge_isolated(judge, show);
}

}  // namespace

Verdict verify(const Backend& backend, std::uint64_t seed,
               std::chrono::duration<double> random_traces, const ShowStage& show) {
  return verify_isolated(
      backend,
      [&](Progress& progress) { return judge_contract(backend, seed, random_traces, progress); },
      show);
}

Verdict verify(const Backend& backend, const Trace& trace, const Conditions& conditions,
               const ShowStage& show) {
  return verify_isolated(
      backend,
      [&](Progress& progress) {
        progress.begin("the trace");
        return judge_trace(backend, trace, conditions);
      },
      show);
}

}  // namespace timerbench
