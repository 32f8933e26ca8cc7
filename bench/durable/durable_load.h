// Loads a durable timer queue on a private engine with clients, and counts what that costs.
//
// Each load has an engine of its own. Before it begins, `pending` timers are armed that are due in
// an hour, so that structures are as full as in use.
//
//   churn  each client arms timers that are due in half an hour, and cancels them: orders that are
//          paid in time. A call is one message; `batch` timers are armed by one call, and cancelled
//          one by one, as they are in life.
//   fire   `timers` are due at once. Workers claim `batch` of them with a call, and complete them.
//   late   a producer arms timers at a rate, each some half a second before its deadline. Workers
//          wait for the first deadline that they know of, or until an earlier one wakes them, and
//          look once a second.
//
// All is counted, and the count is audited: what was armed and not cancelled is there, what was due
// was completed once and by one worker. A load that fails the audit has no figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "durable/engine.h"
#include "replay/durations.h"
#include "system/stop.h"

namespace timerbench {

inline constexpr std::size_t kMostClients = 64;

struct DurableLoad {
  std::size_t clients = 1;   // 1 .. kMostClients
  std::size_t batch = 1;     // timers a call
  std::size_t payload = 16;  // bytes
  std::uint64_t pending = 1'000;
  double seconds = 1;
};

struct DurableFigures {
  std::string failure{};  // if not empty, why the rest is invalid; the status comes first
  double seconds = 0;
  std::uint64_t timers = 0;  // armed and cancelled, or fired
  std::uint64_t calls = 0;
  double client_cpu_seconds = 0;
  std::optional<double> server_cpu_seconds{};  // nothing if the engine is in the clients
  Durations first{};                           // calls of schedule() or claim()
  Durations second{};                          // calls of cancel() or complete()
  Durations lateness{};
  double offered_per_second = 0;
  std::uint64_t armed = 0;  // at that rate
  bool saturated = false;   // not all have fired two seconds after the last deadline
  // Of the timers that were armed before, what the engine and its files have grown by.
  double bytes_in_memory = 0;  // a timer
  double bytes_on_disk = 0;    // a timer
  double restart_seconds = 0;  // from kill -9 to the first claim; only of measure_pending()
};

// All throw BackendError, which says what failed, and Interrupted.
DurableFigures measure_churn(const DurableLoad& load, const DurableContender& contender,
                             const StopFlag& stop);

// `timers` are due at once.
DurableFigures measure_fire(const DurableLoad& load, std::uint64_t timers,
                            const DurableContender& contender, const StopFlag& stop);

// `rate`: timers a second.
DurableFigures measure_late(const DurableLoad& load, double rate, const DurableContender& contender,
                            const StopFlag& stop);

// measure_churn(), and then how long a killed engine takes to be back.
DurableFigures measure_pending(const DurableLoad& load, const DurableContender& contender,
                               const StopFlag& stop);

}  // namespace timerbench
