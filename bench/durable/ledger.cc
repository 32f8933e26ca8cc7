#include "durable/ledger.h"

#include <fmt/format.h>

namespace timerbench {

DurableLedger::Sums DurableLedger::sums() const {
  Sums sums;
  for (DurableId id = 0; id < size(); ++id) {
    sums.armed += has(id, kArmed);
    sums.cancelled += has(id, kCancelled);
    sums.completed += has(id, kCompleted);
  }
  return sums;
}

std::string DurableLedger::contradiction() const {
  std::uint64_t twice = 0, cancelled = 0, unarmed = 0;
  for (DurableId id = 0; id < size(); ++id) {
    twice += has(id, kCompletedTwice);
    cancelled += has(id, kCompleted) && has(id, kCancelled);
    unarmed += has(id, kCompleted) && !has(id, kArmed);
  }
  if (twice + cancelled + unarmed == 0) return "";
  return fmt::format("{} timers fired twice, {} though they were cancelled, {} that nobody armed",
                     twice, cancelled, unarmed);
}

}  // namespace timerbench
