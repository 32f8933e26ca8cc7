// timerbench doctor: whether this machine is fit for measuring.
#include "system/doctor.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "commands/commands.h"

namespace timerbench {
namespace {

using nlohmann::json;

void print_json(std::span<const Check> checks) {
  json out = {{"grade", std::string(1, grade(checks))}, {"checks", json::array()}};
  for (const Check& check : checks) {
    out["checks"].push_back({{"name", check.name},
                             {"state", to_string(check.state)},
                             {"weight", to_string(check.weight)},
                             {"found", check.found},
                             {"advice", check.advice}});
  }
  // The names of hardware need not be UTF-8.
  fmt::print("{}\n", out.dump(2, ' ', false, json::error_handler_t::replace));
}

void print_text(std::span<const Check> checks) {
  for (const Check& check : checks) {
    fmt::print("{:<8} {:<9} {:<14} {}{}{}\n", to_string(check.state), to_string(check.weight),
               check.name, check.found, check.advice.empty() ? "" : " -> ", check.advice);
  }
  const std::string reasons = grade_reasons(checks);
  fmt::print("\nGrade {}, of A (best) to F; --help tells the rule. Bad: {}\n", grade(checks),
             reasons.empty() ? "nothing" : reasons);
}

}  // namespace

void examine_machine(bool as_json) {
  Probes probes = ask_kernel();
  probes.load_seconds = 1;
  const std::vector<Check> checks = diagnose("/", probes);
  as_json ? print_json(checks) : print_text(checks);
}

}  // namespace timerbench
