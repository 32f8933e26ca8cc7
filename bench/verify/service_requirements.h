// What scenarios require of a timer service, and what they say if it is not so.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/clock.h"
#include "services/timer_service.h"
#include "verify/violation.h"

namespace timerbench {

using Fires = std::vector<PendingTimer>;

template <class... Args>
void require(bool holds, int rule, fmt::format_string<Args...> text, Args&&... args) {
  if (holds) return;
  throw ContractViolation(
      fmt::format("rule {}: {}", rule, fmt::format(text, std::forward<Args>(args)...)));
}

inline std::string to_text(Tick instant) {
  return fmt::format("{}.{:06} ms", instant / kMillisecond, instant % kMillisecond);
}

inline std::string to_text(const Fires& timers) {
  std::string text;
  for (const auto& [id, deadline] : timers) {
    fmt::format_to(std::back_inserter(text), "{}timer {} for {}", text.empty() ? "" : ", ", id,
                   to_text(deadline));
  }
  return text.empty() ? "nothing" : text;
}

inline void require_same(const Fires& found, const Fires& wanted, int rule, std::string_view verb,
                         Tick now) {
  require(found == wanted, rule, "at {} the service {} {} instead of {}", to_text(now), verb,
          to_text(found), to_text(wanted));
}

// For many timers: tells only the first difference.
inline void require_same_among_many(const Fires& found, const Fires& wanted, int rule,
                                    std::string_view verb) {
  const auto [other, missed] = std::ranges::mismatch(found, wanted);
  const auto text = [](auto timer, const Fires& timers) {
    return to_text(timer == timers.end() ? Fires{} : Fires{*timer});
  };
  require(found == wanted, rule,
          "the service {} {} timers instead of {}; the first difference: {} instead of {}", verb,
          found.size(), wanted.size(), text(other, found), text(missed, wanted));
}

}  // namespace timerbench
