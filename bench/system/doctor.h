// Whether this machine is fit for measuring now: a check for each condition that is known to spoil
// figures, and a grade.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "system/probes.h"

namespace timerbench {

enum class CheckState { good, bad, unknown };
std::string_view to_string(CheckState state);

// How much a bad check spoils. An info check is never bad.
enum class Weight { info, slight, moderate, severe, fatal };
std::string_view to_string(Weight weight);

struct Check {
  std::string_view name;
  CheckState state = CheckState::unknown;
  std::string found;   // if unknown: what could not be read
  std::string advice;  // if bad: a command that mends it, or what it means
  Weight weight = Weight::info;
};

// All checks, always in the same order. Checks whose files cannot be read are unknown. REQUIRES:
// `root` is "/", or a test's folder with /proc and /sys.
std::vector<Check> diagnose(const std::filesystem::path& root, const Probes& probes);

// The same, but watches the load only if the kernel's average and its count at this instant suggest
// that others run. Both alone may mislead: they may count work that has just ended or runs by
// chance.
std::vector<Check> diagnose_at_a_glance(const std::filesystem::path& root, Probes probes);

inline constexpr std::string_view kGradingRule =
    "The grade is F if a fatal check is bad, else E if a severe one is, D if several moderate ones "
    "are, C if one is, B if a slight one is or one of more weight is unknown, and A otherwise.";
char grade(std::span<const Check> checks);

// The names of the bad checks: "governor; swap".
std::string grade_reasons(std::span<const Check> checks);

// The names of all checks by weight, heaviest first: "fatal: build".
std::vector<std::string> weights();

}  // namespace timerbench
