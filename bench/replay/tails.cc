#include "replay/tails.h"

#include <array>

namespace timerbench {

double clock_cost_ns() {
  using Clock = std::chrono::steady_clock;
  std::array<double, 101> reads{};
  for (double& read : reads) {
    const auto start = Clock::now();
    read = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }
  std::ranges::nth_element(reads, reads.begin() + reads.size() / 2);
  return reads[reads.size() / 2];
}

}  // namespace timerbench
