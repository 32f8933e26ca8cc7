#include "replay/durations.h"

#include <algorithm>
#include <boost/histogram/axis/regular.hpp>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

namespace timerbench {
namespace {

constexpr int kBuckets = 1200;
const boost::histogram::axis::regular<double, boost::histogram::axis::transform::log> kAxis(
    kBuckets, 1, 1e12);

}  // namespace

Durations::Durations() : counts_(kBuckets + 2) {}

void Durations::add(double duration) {
  ++counts_[static_cast<std::size_t>(kAxis.index(duration)) + 1];
  count_ += 1;
  sum_ += duration;
  max_ = std::max(max_, duration);
}

Durations& Durations::operator+=(const Durations& other) {
  std::ranges::transform(counts_, other.counts_, counts_.begin(), std::plus<>());
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
  return *this;
}

double Durations::lower_edge(int bucket) const { return bucket < 0 ? 0 : kAxis.value(bucket); }

double Durations::upper_edge(int bucket) const {
  return bucket >= kBuckets ? std::max(max_, lower_edge(bucket)) : kAxis.value(bucket + 1);
}

std::optional<double> Durations::quantile(double q) const {
  constexpr double kEnough = 10;
  const double wanted = q * static_cast<double>(count_);
  if (static_cast<double>(count_) - wanted < kEnough) return std::nullopt;
  double below = 0;
  int bucket = -1;
  while (below + static_cast<double>(in_bucket(bucket)) < wanted) {
    below += static_cast<double>(in_bucket(bucket++));
  }
  // Interpolates as if durations were evenly spread in the bucket.
  const double share = (wanted - below) / static_cast<double>(in_bucket(bucket));
  const double low = lower_edge(bucket);
  return std::min(max_, low + share * (upper_edge(bucket) - low));
}

nlohmann::json Durations::to_json() const {
  int first = -1;
  int last = kBuckets;
  while (first < last && in_bucket(first) == 0) ++first;
  while (last > first && in_bucket(last) == 0) --last;
  nlohmann::json edges = nlohmann::json::array();
  nlohmann::json counts = nlohmann::json::array();
  if (count_ > 0) {
    edges.push_back(lower_edge(first));
    for (int bucket = first; bucket <= last; ++bucket) {
      edges.push_back(upper_edge(bucket));
      counts.push_back(in_bucket(bucket));
    }
  }
  return {{"count", count_}, {"mean", mean()}, {"max", max_}, {"edges", edges}, {"counts", counts}};
}

}  // namespace timerbench
