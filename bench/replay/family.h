// Names of backends and services: the variants of one structure are a family.
#pragma once

#include <string_view>

namespace timerbench {

// "ring_512" is of the family "ring", and so is "ring_512_without_rounds". A name without a number is
// a family of its own.
inline std::string_view family(std::string_view name) {
  name = name.substr(0, name.find("_with"));
  const std::size_t end = name.find_last_not_of("0123456789");
  return end + 1 < name.size() && name[end] == '_' ? name.substr(0, end) : name;
}

// The families of all libraries that this program has, and of all other programs; there may be none.
inline constexpr std::string_view kLibraries = "libraries";
inline constexpr std::string_view kProcesses = "processes";
inline constexpr std::string_view kDurable = "durable";  // all durable queues

// Whether `name` is the contender's own name or its family's.
inline bool is_called(std::string_view own_name, std::string_view name) {
  return own_name == name || family(own_name) == name;
}

}  // namespace timerbench
