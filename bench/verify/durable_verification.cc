#include "verify/durable_verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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

// What is not checked, and why.
class LeftOut {
 public:
  // Returns whether it is left out: there is a reason.
  bool take(std::string_view name, std::string_view why) {
    if (why.empty()) return false;
    names_[why].push_back(name);
    return true;
  }

  // "; without a, b (because)", or nothing.
  std::string text() const {
    std::string text;
    for (const auto& [why, names] : names_) {
      text +=
          fmt::format("{} {} ({})", text.empty() ? "; without" : ",", fmt::join(names, ", "), why);
    }
    return text;
  }

 private:
  std::map<std::string_view, std::vector<std::string_view>> names_;  // by the reason
};

Verdict judge(const DurableContender& contender, std::uint64_t seed, double seconds,
              Progress& progress) {
  const TemporaryFolder folder("timerbench-durable");
  progress.begin("start of the engine");
  const auto engine = contender.start(folder.path());
  LeftOut left_out;
  std::size_t scenarios = 0;
  for (const DurableScenario& scenario : durable_contract()) {
    if (left_out.take(scenario.name, scenario.left_out(*engine, contender.traits))) continue;
    if (interrupted()) return {};
    progress.begin(scenario.name);
    ++scenarios;
    try {
      scenario.run(*engine, contender.traits);
    } catch (const ContractViolation& violation) {
      return {false, fmt::format("WRONG: {} of bench/verify/durable_contract.cc: {}", scenario.name,
                                 violation.what())};
    }
  }
  std::uint64_t runs = 0;
  const bool has_random_calls =
      !left_out.take("random calls", left_out_of_comparison(contender.traits));
  for (double left = has_random_calls ? seconds : 0; left > 0; left -= kLongestPart, ++seed) {
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
    if (left_out.take(audit.name, audit.left_out(*engine, contender.traits))) continue;
    if (interrupted()) return {};
    progress.begin(fmt::format("audit {}", audit.name));
    ++audits;
    const auto violation =
        audit.run(*engine, contender.traits, fmt::format("audit_{}", audit.name));
    if (violation) return {false, fmt::format("WRONG: audit {}: {}", audit.name, *violation)};
  }
  return {true, fmt::format("ok: {} scenarios, {} random runs, {} audits of processes{}", scenarios,
                            runs, audits, left_out.text())};
}

}  // namespace

Verdict verify(const DurableContender& contender, std::uint64_t seed, double seconds,
               const ShowStage& show) {
  return judge_isolated(
      [&](Progress& progress) { return judge(contender, seed, seconds, progress); }, show,
      kLongestSilence);
}

}  // namespace timerbench
