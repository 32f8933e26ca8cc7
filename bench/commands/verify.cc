// timerbench verify: the contract, then random traces, for any backend.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "commands/command.h"
#include "commands/names.h"
#include "core/backend_error.h"
#include "replay/stop.h"
#include "trace/csv.h"
#include "verify/audited_queue.h"
#include "verify/contract.h"
#include "verify/differential.h"

namespace timerbench {
namespace {

struct VerifyOptions {
  std::vector<std::string> backends;
  double seconds = 1;
  std::uint64_t seed = 1;
};

void print_counterexample(const Backend& backend, const Counterexample& found) {
  fmt::print("{:<22} WRONG: {}\n", backend.traits.name, found.violation);
  fmt::print(
      "  the smallest trace that shows it, at --granularity={}; saved as F.csv it is replayed by\n"
      "  timerbench trace import --format=csv F.csv F && timerbench replay --trace F --backend "
      "{}\n",
      found.config.granularity, backend.traits.name);
  fmt::print("{}", to_csv(found.ops));
}

// Whether the backend keeps the contract; prints one line, and a trace if it does not.
bool verify(const Backend& backend, const VerifyOptions& options) {
  const std::string_view name = backend.traits.name;
  if (backend.is_control()) {
    fmt::print("{:<22} a control, promises nothing\n", name);
    return true;
  }
  std::string_view scenario;
  try {
    for (const Scenario& next : contract()) {
      if (interrupted()) return true;
      scenario = next.name;
      next.run(backend);
    }
    scenario = "random traces";
    const auto result = test_differentially(
        backend, options.seed, std::chrono::duration<double>(options.seconds), interrupted());
    if (result.counterexample) {
      print_counterexample(backend, *result.counterexample);
      return false;
    }
    fmt::print("{:<22} ok: {} scenarios, {} random traces, {} fires, {} empty wakeups\n", name,
               contract().size(), result.traces, result.fired, result.empty_wakeups);
    return true;
  } catch (const ContractViolation& violation) {
    fmt::print("{:<22} WRONG: {}: {}\n", name, scenario, violation.what());
  } catch (const BackendUnavailable& error) {
    fmt::print("{:<22} UNAVAILABLE: {}\n", name, error.what());
  } catch (const BackendError& error) {
    fmt::print("{:<22} ERROR: {}: {}\n", name, scenario, error.what());
  }
  return false;
}

}  // namespace

void add_verify(CLI::App& app) {
  auto options = std::make_shared<VerifyOptions>();
  auto* command = app.add_subcommand(
      "verify", "Check backends against the contract: its scenarios, then random traces");
  command->add_option("backends", options->backends, "Backends or families; none: all");
  command->add_option("--seconds", options->seconds, "Time for random traces, for each backend")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--seed", options->seed, "The same seed tries the same traces")
      ->capture_default_str();
  command->callback([options] {
    bool all_ok = true;
    for (const Backend* backend : find_backends(options->backends)) {
      if (interrupted()) break;
      all_ok &= verify(*backend, *options);
      std::fflush(stdout);
    }
    if (!all_ok) throw CommandFailed();
  });
}

}  // namespace timerbench
