// What threads do to a service when they race: what verify/service_contract.h cannot make happen.
//
//   wakeup           a service that sleeps for an hour is given a timer for now, whatever it is doing:
//                    while it looks, as it falls asleep, in its sleep. Nothing else would wake it, so
//                    a wakeup that is lost is lost for good. Its clock takes its time now and then,
//                    and half of the time it shares one processor with who calls it, so that others
//                    come between its steps
//   own, cross, hot  threads that arm, move and cancel as realtime/contention.h says; every answer
//                    is checked (realtime/audited_service.h)
//   stop             the same threads go on calling while the service is stopped, its timers fire
//                    and its handlers run; again and again
//
// They find what happens to happen, and raise no false alarm: the one bound is that of five seconds,
// after which a timer is given up.
#pragma once

#include <cstdint>
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
};

struct ServiceAudit {
  std::string_view name;
  // What the service did wrong, if anything. Ends early, with nothing, when the flag is set.
  std::optional<std::string> (*run)(const ServiceBackend&, const ServiceAuditOptions&,
                                    const StopFlag&);
};

std::span<const ServiceAudit> service_audits();

}  // namespace timerbench
