// What was probably meant by a name that does not exist.
#pragma once

#include <string_view>
#include <vector>

namespace timerbench {

// The name that takes the fewest letters to change into; empty if there are none. O(names).
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace timerbench
