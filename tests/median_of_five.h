// How long something takes that must be quick, on a machine that may be busy for a moment.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>

namespace timerbench {

// `attempt` makes ready, and returns what is to be timed: the median time of five of those.
template <class Attempt>
std::chrono::steady_clock::duration median_of_five(Attempt&& attempt) {
  std::array<std::chrono::steady_clock::duration, 5> times{};
  for (auto& time : times) {
    auto timed = attempt();
    const auto begin = std::chrono::steady_clock::now();
    timed();
    time = std::chrono::steady_clock::now() - begin;
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace timerbench
