#include "verify/durable_verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "system/stop.h"
#include "system/temporary_folder.h"
#include "verify/durable_audit.h"
#include "verify/durable_contract.h"
#include "verify/durable_differential.h"
#include "verify/violation.h"

namespace timerbench {
namespace {

// An engine that starts may take the longest.
constexpr std::chrono::seconds kLongestSilence{40};
constexpr double kLongestPart = 1;  // seconds of random calls between two signs of progress

Verdict judge(const DurableContender& contender, std::uint64_t seed, double seconds,
              Progress& progress) {
  const TemporaryFolder folder("timerbench-durable");
  progress.begin("start of the engine");
  const auto engine = contender.start(folder.path());
  for (const DurableScenario& scenario : durable_contract()) {
    if (interrupted()) return {};
    progress.begin(scenario.name);
    DurableScene scene(*engine, contender.traits, std::string(scenario.name));
    try {
      scenario.run(scene);
    } catch (const ContractViolation& violation) {
      return {false, fmt::format("WRONG: {} of bench/verify/durable_contract.cc: {}", scenario.name,
                                 violation.what())};
    }
  }
  std::uint64_t runs = 0;
  for (double left = seconds; left > 0; left -= kLongestPart, ++seed) {
    progress.begin("random calls");
    const DurableComparison comparison = compare_with_model(
        *engine, fmt::format("random_{}", seed), seed,
        std::chrono::duration<double>(std::min(left, kLongestPart)), interrupted());
    runs += comparison.runs;
    if (comparison.difference) {
      return {false,
              fmt::format("WRONG: random calls of seed {}: {}", seed, comparison.difference->what),
              comparison.difference->calls};
    }
    if (interrupted()) return {};
  }
  std::size_t audits = 0;
  for (const DurableAudit& audit : durable_audits()) {
    if (audit.needs_processes && contender.traits.shared_by == SharedBy::threads) continue;
    if (interrupted()) return {};
    progress.begin(fmt::format("audit {}", audit.name));
    ++audits;
    const auto violation =
        audit.run(*engine, contender.traits, fmt::format("audit_{}", audit.name));
    if (violation) return {false, fmt::format("WRONG: audit {}: {}", audit.name, *violation)};
  }
  return {true, fmt::format("ok: {} scenarios, {} random runs, {} audits of processes",
                            durable_contract().size(), runs, audits)};
}

}  // namespace

Verdict verify(const DurableContender& contender, std::uint64_t seed, double seconds,
               const ShowStage& show) {
  return judge_isolated(
      [&](Progress& progress) { return judge(contender, seed, seconds, progress); }, show,
      kLongestSilence);
}

}  // namespace timerbench
