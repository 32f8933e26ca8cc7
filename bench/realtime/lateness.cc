#include "realtime/lateness.h"

namespace timerbench {
namespace {

// The waits of one alarm that began before an instant.
std::span<const Wait> begun_before(std::span<const Wait> waits, Tick instant) {
  return {waits.begin(), std::ranges::partition_point(
                             waits, [&](const Wait& wait) { return wait.begin < instant; })};
}

// The waits that ended after an instant.
std::span<const Wait> ended_after(std::span<const Wait> waits, Tick instant) {
  return {
      std::ranges::partition_point(waits, [&](const Wait& wait) { return wait.end <= instant; }),
      waits.end()};
}

}  // namespace

std::span<const Wait> waits_behind(const Expiry& expiry, std::span<const std::vector<Wait>> waits) {
  if (expiry.alarm < waits.size()) {
    const auto own = begun_before(waits[expiry.alarm], expiry.fired);
    if (!own.empty() && own.back().timed()) return ended_after(own, expiry.owed());
  }
  std::span<const Wait> first;
  for (const auto& of_alarm : waits) {
    const auto begun = begun_before(of_alarm, expiry.owed() + 1);
    if (begun.empty()) continue;
    const Wait& wait = begun.back();
    if (!wait.timed() || wait.end <= expiry.owed() || wait.end > expiry.fired) continue;
    if (first.empty() || wait.end < first.front().end) first = begun.last(1);
  }
  return first;
}

Lateness split_lateness(const Expiry& expiry, std::span<const Wait> waits) {
  const Tick owed = expiry.owed();
  Tick rounding = std::min(expiry.due, expiry.fired) - expiry.deadline;
  Tick wakeup = 0;
  for (const Wait& wait : waits) {
    const Tick begin = std::clamp(wait.begin, owed, expiry.fired);
    const Tick end = std::clamp(wait.end, owed, expiry.fired);
    const Tick asked = wait.rung() ? begin : std::clamp(wait.until, begin, end);
    rounding += asked - begin;
    wakeup += end - asked;
  }
  return {rounding, wakeup, expiry.fired - expiry.deadline - rounding - wakeup};
}

}  // namespace timerbench
