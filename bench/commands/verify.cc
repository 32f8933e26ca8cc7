// timerbench verify: checks whether backends and services keep their contracts.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/names.h"
#include "commands/processes.h"
#include "system/stop.h"
#include "trace/trace.h"
#include "verify/durable_verification.h"
#include "verify/service_verification.h"
#include "verify/verification.h"

namespace timerbench {
namespace {

constexpr std::string_view kClearLine = "\r\033[K";

// Throws UsageError if a deadline could exceed the largest tick.
void check_start(Tick start, const Trace& trace) {
  Tick reach = kMaxDelay;
  for (const Op op : trace.ops()) reach += op.id == kAdvance ? op.arg : 0;
  if (start > kNever - 1 - reach) {
    throw UsageError(fmt::format("--start {}: this trace must begin at {} at the latest", start,
                                 kNever - 1 - reach));
  }
}

// Shows the stage on the terminal while it runs.
ShowStage show_stage_of(std::string_view name) {
  return [name](const std::string& stage) {
    if (isatty(STDOUT_FILENO) == 0) return;
    fmt::print("{}{:<22} {} ...", kClearLine, name, stage);
    std::fflush(stdout);
  };
}

void print(std::string_view name, const Verdict& verdict) {
  if (isatty(STDOUT_FILENO) != 0) fmt::print("{}", kClearLine);
  if (!verdict.line.empty()) fmt::print("{:<22} {}\n{}", name, verdict.line, verdict.evidence);
  std::fflush(stdout);
}

}  // namespace

void verify_contenders(VerifyOptions options) {
  std::ranges::move(add_processes(options.processes), std::back_inserter(options.names));
  const bool is_trace = !options.trace.empty();
  // Only backends replay traces.
  const Contenders chosen =
      is_trace ? Contenders{find_backends(options.names), {}, {}} : find_contenders(options.names);
  std::optional<Trace> trace;
  if (is_trace) {
    trace = load_trace(options.trace);
    check_start(options.conditions.start, *trace);
  }
  bool all_ok = true;
  const auto verify_all = [&](const auto& contenders, const auto& verify_one) {
    for (const auto* one : contenders) {
      if (interrupted()) return;
      const Verdict verdict = verify_one(*one, show_stage_of(one->traits.name));
      print(one->traits.name, verdict);
      all_ok &= verdict.is_ok;
    }
  };
  verify_all(chosen.backends, [&](const Backend& backend, const ShowStage& show) {
    const std::chrono::duration<double> seconds(options.seconds);
    return trace ? verify(backend, *trace, options.conditions, show)
                 : verify(backend, options.seed, seconds, show);
  });
  verify_all(chosen.services, [&](const ServiceBackend& service, const ShowStage& show) {
    return verify(service, options.seed, options.seconds, show);
  });
  verify_all(chosen.durable, [&](const DurableContender& queue, const ShowStage& show) {
    return verify(queue, options.seed, options.seconds, show);
  });
  if (interrupted()) throw std::runtime_error("interrupted; what is not listed was not verified");
  if (!all_ok) throw CommandFailed();
}

}  // namespace timerbench
