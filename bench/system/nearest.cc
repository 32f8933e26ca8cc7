#include "system/nearest.h"

#include <algorithm>
#include <numeric>

namespace timerbench {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& known) {
  const auto distance = [name](std::string_view candidate) {
    return edit_distance(candidate, name);
  };
  const auto found = std::ranges::min_element(known, {}, distance);
  // A misspelt name has mostly right letters.
  if (found == known.end() || distance(*found) > name.size() / 3 + 1) return {};
  return *found;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known) {
  const std::string_view found = nearest(name, known);
  return found.empty() ? "" : "; did you mean '" + std::string(found) + "'?";
}

}  // namespace timerbench
