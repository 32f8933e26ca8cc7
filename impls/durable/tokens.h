// Numbers that tell claims apart, of all clients, also of those before a restart.
#pragma once

#include <cstdint>
#include <random>

namespace timerbench {

class Tokens {
 public:
  static constexpr std::uint64_t kNobody = 0;

  // Never kNobody, and positive as a signed number.
  std::uint64_t next() {
    last_ = (last_ + 1) & kPositive;
    return last_ == kNobody ? next() : last_;
  }

 private:
  static constexpr std::uint64_t kPositive = ~std::uint64_t{0} >> 1;

  // Two clients of 2^20 claims each meet with a chance of 10^-13.
  std::uint64_t last_ = [] {
    std::random_device random;
    return ((std::uint64_t{random()} << 32) | random()) & kPositive;
  }();
};

}  // namespace timerbench
