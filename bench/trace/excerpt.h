// Foreign text for error messages: printable, on one line, not too long.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace timerbench {

inline std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 160;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::string shown(text.substr(0, kLongest));
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > kLongest ? shown + "..." : shown;
}

}  // namespace timerbench
