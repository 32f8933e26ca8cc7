// timerbench verify: the contract, then random traces, for any backend.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

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

// What is being done. On a terminal it stands there meanwhile, for whoever crashes or hangs.
class Stage {
 public:
  explicit Stage(std::string_view backend) : backend_(backend) {}

  void begin(std::string_view name) {
    name_ = name;
    if (!on_terminal_) return;
    fmt::print("{}{:<22} {} ...", kClearLine, backend_, name);
    std::fflush(stdout);
  }
  void clear() const {
    if (on_terminal_) fmt::print("{}", kClearLine);
  }
  std::string_view name() const { return name_; }

 private:
  static constexpr std::string_view kClearLine = "\r\033[K";

  bool on_terminal_ = isatty(STDOUT_FILENO) != 0;
  std::string_view backend_;
  std::string_view name_;
};

// What is to be said of a backend; nothing if it was interrupted.
struct Verdict {
  bool is_ok = false;
  std::string line{};
  std::string trace{};  // the lines of one that shows why
};

Verdict try_trace(const Backend& backend, const Trace& trace, const Conditions& conditions) {
  const auto violation = find_violation(backend, trace, conditions, interrupted());
  if (interrupted()) return {};
  if (violation) return {false, fmt::format("WRONG: {}", *violation)};
  return {true, fmt::format("ok: {} operations", trace.ops().size())};
}

Verdict try_contract(const Backend& backend, const VerifyOptions& options, Stage& stage) {
  for (const ContractScenario& scenario : contract()) {
    if (interrupted()) return {};
    stage.begin(scenario.name);
    scenario.run(backend);
  }
  stage.begin("random traces");
  const auto result = test_differentially(
      backend, options.seed, std::chrono::duration<double>(options.seconds), interrupted());
  if (result.counterexample) {
    const Counterexample& found = *result.counterexample;
    return {false, fmt::format("WRONG: {}", found.violation),
            to_text(found, backend.traits.name, program_invocation_name)};
  }
  if (interrupted()) return {};
  return {true, fmt::format("ok: {} scenarios, {} random traces, {} fires, {} empty wakeups",
                            contract().size(), result.traces, result.fired, result.empty_wakeups)};
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

Verdict judge(const Backend& backend, const std::optional<Trace>& trace,
              const VerifyOptions& options, Stage& stage) {
  if (backend.is_control()) return {true, "a control, promises nothing"};
  try {
    if (!trace) return try_contract(backend, options, stage);
    stage.begin("the trace");
    return try_trace(backend, *trace, options.conditions);
  } catch (const ContractViolation& violation) {
    return {false, fmt::format("WRONG: {} of bench/verify/contract.cc: {}", stage.name(),
                               violation.what())};
  } catch (const BackendUnavailable& error) {
    return {false, fmt::format("UNAVAILABLE: {}", error.what())};
  } catch (const BackendError& error) {
    return {false, fmt::format("ERROR: {}: {}", stage.name(), error.what())};
  }
}

// Prints the verdict. Returns whether the backend keeps the contract.
bool verify(const Backend& backend, const std::optional<Trace>& trace,
            const VerifyOptions& options) {
  Stage stage(backend.traits.name);
  const Verdict verdict = judge(backend, trace, options, stage);
  stage.clear();
  if (!verdict.line.empty()) {
    fmt::print("{:<22} {}\n{}", backend.traits.name, verdict.line, verdict.trace);
  }
  std::fflush(stdout);
  return verdict.is_ok;
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
  }
  if (interrupted()) throw std::runtime_error("interrupted; what is not listed was not verified");
  if (!all_ok) throw CommandFailed();
}

}  // namespace timerbench
