#include "workloads/parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "system/nearest.h"
#include "trace/trace.h"

namespace timerbench {
namespace {

template <class T>
T parse_number(std::string_view text, T least, T most, std::string_view what) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && rest == end && least <= value && value <= most) return value;
  throw ParameterError(fmt::format("'{}' is not a {} from {} to {}", text, what, least, most));
}

// Parses and writes each type of parameter.
void read(std::string_view text, std::uint32_t& value) {
  value = parse_number<std::uint32_t>(text, 1, 1'000'000'000, "whole number");
}
void read(std::string_view text, double& value) {
  value = parse_number<double>(text, 0, 1, "share");
}
void read(std::string_view text, std::chrono::nanoseconds& value) { value = parse_duration(text); }
void read(std::string_view text, Delays& value) { value = Delays(text); }

std::string written(std::uint32_t value) { return std::to_string(value); }
std::string written(double value) { return fmt::format("{}", value); }
std::string written(std::chrono::nanoseconds value) { return to_text(value); }
std::string written(const Delays& value) { return value.text(); }

}  // namespace

std::string Parameter::text() const {
  return std::visit([](const auto* value) { return written(*value); }, value_);
}

void Parameter::set(std::string_view text) {
  try {
    std::visit([&](auto* value) { read(text, *value); }, value_);
  } catch (const ParameterError& error) {
    throw ParameterError(fmt::format("{}: {}", name_, error.what()));
  }
}

TimerId parse_size(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && rest + 1 == end) {
    if (*rest == 'k')
      value *= 1e3, ++rest;
    else if (*rest == 'M')
      value *= 1e6, ++rest;
  }
  if (error != std::errc{} || rest != end || value < 1 || value > kMostIds ||
      value != static_cast<TimerId>(value)) {
    throw ParameterError(fmt::format(
        "'{}' is not a size: give a whole number from 1 to 1e9, such as 1000, 10k or 1e6", text));
  }
  return static_cast<TimerId>(value);
}

void apply(const Settings& settings, std::string_view workload, Parameters parameters) {
  for (const auto& [name, text] : settings) {
    const auto found = std::ranges::find(parameters, name, &Parameter::name);
    if (found == parameters.end()) {
      std::vector<std::string_view> known;
      for (const Parameter& one : parameters) known.push_back(one.name());
      const std::string hint = did_you_mean(name, known);
      throw ParameterError(fmt::format("{} has no parameter '{}'{} It has {}", workload, name,
                                       hint.empty() ? "." : hint, fmt::join(known, ", ")));
    }
    found->set(text);
  }
}

}  // namespace timerbench
