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
#include "system/stop.h"
#include "trace/trace.h"
#include "verify/verification.h"

namespace timerbench {
namespace {

constexpr std::string_view kClearLine = "\r\033[K";

// Throws UsageError if a deadline could come to lie beyond the end of time.
void check_start(Tick start, const Trace& trace) {
  Tick reach = kMaxDelay;
  for (const Op op : trace.ops()) reach += op.id == kAdvance ? op.arg : 0;
  if (start > kNever - 1 - reach) {
    throw UsageError(fmt::format("--start {}: this trace must begin at {} at the latest", start,
                                 kNever - 1 - reach));
  }
}

Verdict verify(const Backend& backend, const std::optional<Trace>& trace,
               const VerifyOptions& options) {
  const ShowStage show = [&](const std::string& stage) {
    if (isatty(STDOUT_FILENO) == 0) return;
    fmt::print("{}{:<22} {} ...", kClearLine, backend.traits.name, stage);
    std::fflush(stdout);
  };
  return trace
             ? verify(backend, *trace, options.conditions, show)
             : verify(backend, options.seed, std::chrono::duration<double>(options.seconds), show);
}

void print(std::string_view name, const Verdict& verdict) {
  if (isatty(STDOUT_FILENO) != 0) fmt::print("{}", kClearLine);
  if (!verdict.line.empty()) fmt::print("{:<22} {}\n{}", name, verdict.line, verdict.evidence);
  std::fflush(stdout);
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
    const Verdict verdict = verify(*backend, trace, options);
    print(backend->traits.name, verdict);
    all_ok &= verdict.is_ok;
  }
  if (interrupted()) throw std::runtime_error("interrupted; what is not listed was not verified");
  if (!all_ok) throw CommandFailed();
}

}  // namespace timerbench
