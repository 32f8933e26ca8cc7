// The middle of some figures.
#pragma once

#include <algorithm>
#include <vector>

namespace timerbench {

// The mean of the two in the middle if they are even in number. O(n log n). REQUIRES: there is one.
inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace timerbench
