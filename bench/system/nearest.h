// Suggests the name that was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace timerbench {

// The known name with the smallest edit distance; empty if none is near. O(names).
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& known);

// "; did you mean 'churn'?", or nothing if no name is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace timerbench
