// A distribution of durations: how late timers fire, how long calls take.
//
// Kept as counts in 1200 buckets from 1 ns to 1000 s, 100 a decade, so that a quantile is off by no
// more than 2.4 %, whatever its magnitude. 10 KiB; add() costs a logarithm, some 20 ns.
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

  // In nanoseconds, 0 and more.
  void add(double duration);

  Durations& operator+=(const Durations& other);

  std::uint64_t count() const { return count_; }

  // 0 if there are none.
  double max() const { return max_; }
  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }

  // The duration that a share `q` of them do not exceed. Nothing unless ten or more lie beyond it:
  // the 99.9th percentile of 100 durations would be their maximum under another name.
  // REQUIRES: 0 < q < 1. O(buckets).
  std::optional<double> quantile(double q) const;

  // {"count", "mean", "max", "edges": [e0, e1, ...], "counts": [...]}: counts[i] durations lie in
  // [edges[i], edges[i + 1]), in nanoseconds; empty buckets before the first and behind the last
  // one that is not are left out.
  nlohmann::json to_json() const;

 private:
  // Bucket -1 is below 1 ns, the one behind the last is 1000 s and more.
  std::uint64_t in_bucket(int bucket) const {
    return counts_[static_cast<std::size_t>(bucket + 1)];
  }
  double lower_edge(int bucket) const;
  double upper_edge(int bucket) const;

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double max_ = 0;
};

}  // namespace timerbench
