#include "system/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "system/checks.h"
#include "system/load.h"

namespace timerbench {

std::string_view to_string(CheckState state) {
  constexpr std::string_view kNames[] = {"good", "bad", "unknown"};
  return kNames[static_cast<int>(state)];
}

std::string_view to_string(Weight weight) {
  constexpr std::string_view kNames[] = {"info", "slight", "moderate", "severe", "fatal"};
  return kNames[static_cast<int>(weight)];
}

std::vector<Check> diagnose(const std::filesystem::path& root, const Probes& probes) {
  Machine machine{root, probes, std::nullopt};
  if (probes.load_seconds > 0) {
    machine.load = watch_load(root, [&] { probes.wait(probes.load_seconds); });
  }
  std::vector<Check> checks;
  for (const Row& row : rows()) {
    Finding finding = row.look(machine);
    checks.push_back(
        {row.name, finding.state, std::move(finding.found), std::move(finding.advice), row.weight});
  }
  return checks;
}

std::vector<Check> diagnose_at_a_glance(const std::filesystem::path& root, Probes probes) {
  const double seconds = std::exchange(probes.load_seconds, 0);
  std::vector<Check> checks = diagnose(root, probes);
  const bool seems_busy = std::ranges::any_of(checks, [](const Check& check) {
    return check.name == "load" && check.state == CheckState::bad;
  });
  if (!seems_busy) return checks;
  probes.load_seconds = seconds;
  return diagnose(root, probes);
}

char grade(std::span<const Check> checks) {
  const auto count = [&](CheckState state, Weight least, Weight most) {
    return std::ranges::count_if(checks, [=](const Check& check) {
      return check.state == state && least <= check.weight && check.weight <= most;
    });
  };
  const auto bad = [&](Weight weight) { return count(CheckState::bad, weight, weight); };
  if (bad(Weight::fatal) > 0) return 'F';
  if (bad(Weight::severe) > 0) return 'E';
  if (bad(Weight::moderate) > 1) return 'D';
  if (bad(Weight::moderate) > 0) return 'C';
  if (bad(Weight::slight) > 0) return 'B';
  return count(CheckState::unknown, Weight::moderate, Weight::fatal) > 0 ? 'B' : 'A';
}

std::string grade_reasons(std::span<const Check> checks) {
  std::vector<std::string_view> names;
  for (const Check& check : checks) {
    if (check.state == CheckState::bad) names.push_back(check.name);
  }
  return fmt::format("{}", fmt::join(names, "; "));
}

std::vector<std::string> weights() {
  std::vector<std::string> lines;
  for (const Row& row : rows()) {  // sorted by weight
    const std::string begin = fmt::format("{}: ", to_string(row.weight));
    if (lines.empty() || !lines.back().starts_with(begin)) {
      lines.push_back(begin);
    } else {
      lines.back() += ", ";
    }
    lines.back() += row.name;
  }
  return lines;
}

}  // namespace timerbench
