// What was probably meant by a name that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace timerbench {

// "; did you mean 'churn'?", the name that takes the fewest letters to change into; empty if none is
// near. O(names).
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace timerbench
