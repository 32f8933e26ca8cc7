#include "system/limits.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <span>
#include <thread>

namespace timerbench {
namespace {

using Clock = std::chrono::steady_clock;

// The time of one of `count` operations. `work` returns its result, so that the compiler keeps it.
template <class Work>
double ns_each(std::size_t count, Work&& work) {
  const auto start = Clock::now();
  volatile std::uint64_t result = work();
  (void)result;
  const std::chrono::duration<double, std::nano> passed = Clock::now() - start;
  return passed.count() / static_cast<double>(count);
}

// xorshift64 (Marsaglia 2003): drawing an index costs less than the access.
std::uint64_t next(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

double random_access(std::span<std::uint64_t> words) {
  constexpr std::size_t kAccesses = 4'000'000;
  const std::uint64_t mask = words.size() - 1;  // a power of two
  std::uint64_t state = 88172645463325252;
  return ns_each(kAccesses, [&] {
    for (std::size_t i = 0; i < kAccesses; ++i) ++words[next(state) & mask];
    return words[0];
  });
}

struct alignas(64) Node {
  std::uint32_t next;
};

double list_walk(std::size_t bytes) {
  constexpr std::size_t kSteps = 500'000;
  std::vector<Node> nodes(bytes / sizeof(Node));
  // Sattolo's shuffle (1986): a single cycle through all nodes.
  std::vector<std::uint32_t> order(nodes.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::uint64_t state = 88172645463325252;
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[next(state) % i]);
  for (std::uint32_t i = 0; i < order.size(); ++i) nodes[i].next = order[i];
  return ns_each(kSteps, [&] {
    std::uint32_t at = 0;
    for (std::size_t i = 0; i < kSteps; ++i) at = nodes[at].next;
    return at;
  });
}

double append(std::span<std::uint64_t> words) {
  return ns_each(words.size(), [&] {
    std::uint64_t value = words.size();
    for (std::uint64_t& word : words) word = value++;
    return words.back();
  });
}

double clock_read() {
  constexpr std::size_t kReads = 100'000;
  return ns_each(kReads, [] {
    Clock::time_point last;
    for (std::size_t i = 0; i < kReads; ++i) last = Clock::now();
    return static_cast<std::uint64_t>(last.time_since_epoch().count());
  });
}

double sleep_late() {
  constexpr std::chrono::milliseconds kWanted{1};
  std::vector<double> late(51);
  for (double& one : late) {
    const auto wanted = Clock::now() + kWanted;
    std::this_thread::sleep_until(wanted);
    one = std::chrono::duration<double, std::nano>(Clock::now() - wanted).count();
  }
  const auto middle = late.begin() + static_cast<std::ptrdiff_t>(late.size() / 2);
  std::nth_element(late.begin(), middle, late.end());
  return *middle;
}

}  // namespace

Limits measure_limits(const std::vector<std::size_t>& working_sets) {
  Limits limits{.memory = {}, .append = 0, .clock = clock_read(), .sleep_late = sleep_late()};
  for (const std::size_t bytes : working_sets) {
    std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
    limits.memory.push_back({bytes, random_access(words), list_walk(bytes)});
    limits.append = append(words);
  }
  return limits;
}

}  // namespace timerbench
