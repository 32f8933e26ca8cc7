// Foreign text for messages and results: printable, on one line.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace timerbench {

// With a question mark for whatever is not printable ASCII.
inline std::string printable(std::string_view text) {
  std::string shown(text);
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

// The same, and not too long.
inline std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 160;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string shown = printable(text.substr(0, kLongest));
  return text.size() > kLongest ? shown + "..." : shown;
}

}  // namespace timerbench
