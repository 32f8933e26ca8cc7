// Names joined at compile time: "ring" and 512 make "ring_512".
//
// A part is a type with a `view`.
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

template <FixedString Text>
struct LiteralPart {
  static constexpr std::string_view view{Text.text.data(), Text.text.size() - 1};
};

template <std::size_t N>
class NumberPart {
  static constexpr std::size_t kDigits = [] {
    std::size_t digits = 1;
    for (std::size_t rest = N; rest >= 10; rest /= 10) ++digits;
    return digits;
  }();

  static constexpr auto kText = [] {
    std::array<char, kDigits> text{};
    std::size_t rest = N;
    for (std::size_t i = kDigits; i-- > 0; rest /= 10) text[i] = static_cast<char>('0' + rest % 10);
    return text;
  }();

 public:
  static constexpr std::string_view view{kText.data(), kText.size()};
};

// The name that the traits of a backend or a service give it.
template <class Named>
struct NamePart {
  static constexpr std::string_view view = Named::traits.name;
};

template <class First, class Second>
class JoinedName {
  static constexpr auto kText = [] {
    std::array<char, First::view.size() + 1 + Second::view.size()> text{};
    auto out = std::copy(First::view.begin(), First::view.end(), text.begin());
    *out++ = '_';
    std::copy(Second::view.begin(), Second::view.end(), out);
    return text;
  }();

 public:
  static constexpr std::string_view view{kText.data(), kText.size()};
};

// The name of a backend that is registered with several settings.
template <FixedString Family, std::size_t Setting>
inline constexpr std::string_view kSettingName =
    JoinedName<LiteralPart<Family>, NumberPart<Setting>>::view;

// The name of a service that is built over a backend: "locked" and scan make "locked_scan".
template <FixedString Prefix, class Named>
inline constexpr std::string_view kPrefixedName =
    JoinedName<LiteralPart<Prefix>, NamePart<Named>>::view;

}  // namespace timerbench
