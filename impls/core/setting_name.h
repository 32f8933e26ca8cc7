// Names of backends that are registered with several settings: "ring" and 512 make "ring_512".
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace timerbench {

template <std::size_t N>
struct FixedString {
  std::array<char, N> text{};
  consteval FixedString(const char (&literal)[N]) { std::copy_n(literal, N, text.begin()); }
};

template <FixedString Family, std::size_t Setting>
class SettingName {
  static constexpr std::size_t kDigits = [] {
    std::size_t digits = 1;
    for (std::size_t rest = Setting; rest >= 10; rest /= 10) ++digits;
    return digits;
  }();

  static constexpr auto kText = [] {
    std::array<char, Family.text.size() + kDigits> text{};
    auto out = std::copy_n(Family.text.begin(), Family.text.size() - 1, text.begin());
    *out = '_';
    std::size_t rest = Setting;
    for (std::size_t i = 0; i < kDigits; ++i, rest /= 10) {
      text[text.size() - 1 - i] = static_cast<char>('0' + rest % 10);
    }
    return text;
  }();

 public:
  static constexpr std::string_view view{kText.data(), kText.size()};
};

template <FixedString Family, std::size_t Setting>
inline constexpr std::string_view kSettingName = SettingName<Family, Setting>::view;

}  // namespace timerbench
