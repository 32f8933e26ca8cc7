// A distribution of durations: how late timers fire, how long calls take.
//
// Kept as counts in 1200 buckets from 1 ns to 1000 s, 100 a decade, so that a quantile is off by no
// more than 2.4 %, whatever its magnitude. 10 KiB; add() costs a logarithm, some 20 ns.
#pragma once

#include <algorithm>
#include <boost/histogram.hpp>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace timerbench {

class Durations {
 public:
  // In nanoseconds, 0 and more.
  void add(double duration) {
    buckets_(duration);
    count_ += 1;
    sum_ += duration;
    max_ = std::max(max_, duration);
  }

  Durations& operator+=(const Durations& other) {
    buckets_ += other.buckets_;
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
    return *this;
  }

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
  using Axis = boost::histogram::axis::regular<double, boost::histogram::axis::transform::log>;
  using Storage = boost::histogram::dense_storage<std::uint64_t>;

  // Bucket -1 is below 1 ns, the one behind the last is 1000 s and more.
  static constexpr int kBuckets = 1200;
  double lower_edge(int bucket) const;
  double upper_edge(int bucket) const;

  boost::histogram::histogram<std::tuple<Axis>, Storage> buckets_ =
      boost::histogram::make_histogram_with(Storage(), Axis(kBuckets, 1, 1e12));
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double max_ = 0;
};

}  // namespace timerbench
