// Random numbers that are the same on every machine: integers only, no std:: distributions.
#pragma once

#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace timerbench {

// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // Uniform over 0 .. bound - 1, with a bias below bound / 2^32.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((next() >> 32) * bound >> 32);
  }

  // Uniform over first .. last.
  std::uint32_t between(std::uint32_t first, std::uint32_t last) {
    return first + below(last - first + 1);
  }

  // Exponential with the given mean, in units of 2^-32. REQUIRES: mean < 2^27, so that the sum does
  // not overflow. Von Neumann's method (1951), which only compares: a falling run of uniform
  // numbers whose first is u has an odd length with probability e^-u.
  std::uint64_t exponential(std::uint64_t mean) {
    for (std::uint64_t whole = 0;; ++whole) {
      const std::uint64_t first = next();
      std::uint64_t last = first;
      bool odd = true;
      for (std::uint64_t u = next(); u < last; u = next()) {
        last = u;
        odd = !odd;
      }
      if (odd) return whole * (mean << 32) + (first >> 32) * mean;
    }
  }

  // The same with a mean in ms, in ns rounded down.
  std::uint64_t exponential_ns(std::uint64_t mean_ms) {
    const std::uint64_t ms = exponential(mean_ms);
    return (ms >> 32) * 1'000'000 + ((ms & 0xFFFF'FFFF) * 1'000'000 >> 32);
  }

  // True with this probability.
  bool chance(double share) {
    return static_cast<double>(next() >> 11) < share * static_cast<double>(std::uint64_t{1} << 53);
  }

  // Normal with mean 0 and standard deviation 1, in units of 2^-32: the sum of twelve uniform
  // numbers, less their mean. Its tails end at 6; the upper quartile is 0.681, the normal one
  // 0.674.
  std::int64_t normal() {
    std::int64_t sum = 0;
    for (int i = 0; i < 12; ++i) sum += static_cast<std::int64_t>(next() >> 32);
    return sum - (std::int64_t{6} << 32);
  }

  // Every power of two is as likely as the next: uniform within [2^k, 2^(k+1)), k uniform over
  // 0 .. bits - 1.
  std::uint32_t log_uniform(std::uint32_t bits) {
    const std::uint32_t octave = std::uint32_t{1} << below(bits);
    return octave + below(octave);
  }

  // 0 .. n - 1 in random order.
  std::vector<std::uint32_t> permutation(std::uint32_t n) {
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0U);
    for (std::uint32_t left = n; left > 1; --left) std::swap(order[left - 1], order[below(left)]);
    return order;
  }

 private:
  std::uint64_t state_;
};

}  // namespace timerbench
