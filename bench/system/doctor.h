// Whether this machine, as it is now, is fit for measuring: one check for each thing that is known
// to spoil figures, and a grade that follows from them.
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

// How much a bad check spoils. What is only told is never bad.
enum class Weight { told, slight, moderate, severe, fatal };
std::string_view to_string(Weight weight);

struct Check {
  std::string_view name;
  CheckState state = CheckState::unknown;
  std::string found;   // of one that is unknown: what could not be read
  std::string advice;  // of a bad one: the command that mends it, or what it means
  Weight weight = Weight::told;
};

// All checks, always in the same order. Where nothing can be read all are unknown. REQUIRES: `root`
// is "/", or a folder with a /proc and a /sys as a test has.
std::vector<Check> diagnose(const std::filesystem::path& root, const Probes& probes);

// The same, but the load is watched only where others seem to run: by the kernel's average and its
// count of this instant alone it may be what has just ended and who runs by chance.
std::vector<Check> diagnose_at_a_glance(const std::filesystem::path& root, Probes probes);

inline constexpr std::string_view kGradingRule =
    "The grade is F if a fatal check is bad, else E if a severe one is, D if several moderate ones "
    "are, C if one is, B if a slight one is or one of more weight is unknown, and A otherwise.";
char grade(std::span<const Check> checks);

// The names of the bad ones: "governor; swap".
std::string grade_reasons(std::span<const Check> checks);

// The names of all checks by their weight, the gravest first: "fatal: build".
std::vector<std::string> weights();

}  // namespace timerbench
