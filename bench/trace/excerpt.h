// Makes foreign text fit for messages and results: printable, on one line.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace timerbench {

// Replaces all but printable ASCII by question marks.
inline std::string printable(std::string_view text) {
  std::string shown(text);
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

// The same, shortened if it is long.
inline std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 160;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string shown = printable(text.substr(0, kLongest));
  return text.size() > kLongest ? shown + "..." : shown;
}

}  // namespace timerbench
