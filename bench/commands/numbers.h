// Numbers that a user types.
#pragma once

#include <fmt/core.h>

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

namespace timerbench {

// Why the text is not a number from `least` to `most`; empty if it is one.
template <class T>
std::string range_problem(std::string_view text, T least, T most) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && rest == end && least <= value && value <= most) return {};
  return fmt::format("'{}' is not a {} from {} to {}", text,
                     std::is_integral_v<T> ? "whole number" : "number", least, most);
}

inline constexpr double kMostSeconds = 1e6;  // about 12 days

}  // namespace timerbench
