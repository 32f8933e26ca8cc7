// A distribution of durations, such as the lateness of timers or the length of calls.
//
// Counts durations in 1200 buckets from 1 ns to 1000 s, 100 per decade, so a quantile is off by at
// most 2.4 % at any magnitude. Takes 10 KiB; add() costs a logarithm, some 20 ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace timerbench {

class Durations {
 public:
  Durations();

  // In nanoseconds. REQUIRES: duration >= 0.
  void add(double duration);

  Durations& operator+=(const Durations& other);

  std::uint64_t count() const { return count_; }

  // 0 if there are no durations.
  double max() const { return max_; }
  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }

  // The duration that a share `q` of the durations does not exceed. Nothing unless at least ten
  // exceed it: the 99.9th percentile of 100 durations would be their maximum. REQUIRES: 0 < q < 1.
  // O(buckets).
  std::optional<double> quantile(double q) const;

  // {"count", "mean", "max", "edges": [e0, e1, ...], "counts": [...]}: counts[i] durations lie in
  // [edges[i], edges[i + 1]), in nanoseconds. Leading and trailing empty buckets are left out.
  nlohmann::json to_json() const;

 private:
  // Bucket -1 holds durations below 1 ns; the bucket after the last one holds 1000 s and more.
  std::uint64_t in_bucket(int bucket) const {
    return counts_[static_cast<std::size_t>(bucket) + 1];
  }
  double lower_edge(int bucket) const;
  double upper_edge(int bucket) const;

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double max_ = 0;
};

}  // namespace timerbench
