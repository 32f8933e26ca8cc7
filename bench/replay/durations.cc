#include "replay/durations.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace timerbench {

double Durations::lower_edge(int bucket) const {
  return bucket < 0 ? 0 : buckets_.axis().value(bucket);
}

double Durations::upper_edge(int bucket) const {
  return bucket >= kBuckets ? std::max(max_, lower_edge(bucket))
                            : buckets_.axis().value(bucket + 1);
}

std::optional<double> Durations::quantile(double q) const {
  constexpr double kEnough = 10;
  const double wanted = q * static_cast<double>(count_);
  if (static_cast<double>(count_) - wanted < kEnough) return std::nullopt;
  double below = 0;
  int bucket = -1;
  while (below + static_cast<double>(buckets_.at(bucket)) < wanted) {
    below += static_cast<double>(buckets_.at(bucket++));
  }
  // Within the bucket as if they lay evenly.
  const double share = (wanted - below) / static_cast<double>(buckets_.at(bucket));
  const double low = lower_edge(bucket);
  return std::min(max_, low + share * (upper_edge(bucket) - low));
}

nlohmann::json Durations::to_json() const {
  int first = -1;
  int last = kBuckets;
  while (first < last && buckets_.at(first) == 0) ++first;
  while (last > first && buckets_.at(last) == 0) --last;
  nlohmann::json edges = nlohmann::json::array();
  nlohmann::json counts = nlohmann::json::array();
  if (count_ > 0) {
    edges.push_back(lower_edge(first));
    for (int bucket = first; bucket <= last; ++bucket) {
      edges.push_back(upper_edge(bucket));
      counts.push_back(buckets_.at(bucket));
    }
  }
  return {{"count", count_}, {"mean", mean()}, {"max", max_}, {"edges", edges}, {"counts", counts}};
}

}  // namespace timerbench
