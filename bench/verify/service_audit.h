// Checks a service under races, which verify/service_contract.h cannot cause.
//
//   wakeup           A service that sleeps for an hour is given a timer for now: while it looks, as
//                    it falls asleep, or in its sleep. Nothing else would wake it, so a lost wakeup
//                    stays lost. Its clock is slow now and then, and half of the time it shares a
//                    processor with the caller, so that other threads run between its steps.
//   own, cross, hot  Threads arm, move and cancel as in realtime/contention.h, and every answer is
//                    checked (realtime/audited_service.h).
//   stop             The same threads keep calling while the service is stopped, its timers fire
//                    and its handlers run; repeatedly.
//
// The audits find only races that happen, and raise no false alarm. Their only time limit is five
// seconds, after which a timer counts as lost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "realtime/service.h"
#include "system/stop.h"

namespace timerbench {

struct ServiceAuditOptions {
  double seconds = 0.3;  // of calls
  std::uint64_t seed = 1;
  std::function<void()> progress = [] {};  // called now and then, unless the service hangs
};

struct ServiceAudit {
  std::string_view name;
  // Returns what the service did wrong, if anything. If the flag is set, ends early with nothing.
  std::optional<std::string> (*run)(const ServiceBackend&, const ServiceAuditOptions&,
                                    const StopFlag&);
};

std::span<const ServiceAudit> service_audits();

}  // namespace timerbench
