// Audits of a durable timer queue in real time: what several processes do at once, and what is left
// when they, or the engine, are killed.
//
// Each process tells each id to the auditing process, through a pipe: a producer when schedule() has
// returned, a worker when it was handed a timer, before it completes it. So what was told is a
// ledger outside the queue, and it is there also when the process was killed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "durable/engine.h"

namespace timerbench {

struct DurableAudit {
  std::string_view name;
  enum class Needs { processes, a_restart } needs;

  // Why it says nothing of such a queue; empty if it does.
  std::string_view left_out(const DurableEngine& engine, const DurableTraits& traits) const;
  // What was wrong, if anything. `queue` is a name that nobody has used. REQUIRES: this process has
  // one thread.
  std::optional<std::string> (*run)(DurableEngine&, const DurableTraits&, const std::string& queue);
};

std::span<const DurableAudit> durable_audits();

}  // namespace timerbench
