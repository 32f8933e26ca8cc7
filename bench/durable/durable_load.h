// Loads a durable timer queue on a private engine with clients, and counts what that costs.
//
// Each load has an engine of its own. Before it begins, `pending` timers are armed that are due in
// an hour, so that structures are as full as in use.
//
//   churn  each client arms timers that are due in half an hour, and cancels them: orders that are
//          paid in time. A call is one message; `batch` timers are armed by one call, and cancelled
//          one by one, as they are in life. Then, if `fires` says so, some are due at once.
//   fire   `timers` are due at once. Workers claim `batch` of them with a call, and complete them.
//   timed  producers arm and cancel timers at the instants of a plan. Workers wait for the first
//          deadline that they know of, or until an earlier one wakes them. The control is one thread that
//          knows all deadlines and sleeps until each: how late the machine itself is, while the same
//          producers call a queue that does nothing.
//   idle   nothing is due. Workers wait, as under a load.
//
// All is counted, and the count is audited: what was armed and not cancelled is there, what was due
// was completed once and by one worker, and nothing that was cancelled. A load that fails the audit
// has no figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "durable/engine.h"
#include "durable/plan.h"
#include "replay/durations.h"
#include "system/stop.h"

namespace timerbench {

inline constexpr std::size_t kMostClients = 64;
inline constexpr std::size_t kMostShards = 1024;
inline constexpr std::size_t kMostBatch = 100'000;  // that is a message of several MB

struct DurableLoad {
  std::size_t clients = 1;    // 1 .. kMostClients; of a timed load the workers
  std::size_t producers = 1;  // of a timed load
  std::size_t batch = 1;      // timers a call, 1 .. kMostBatch
  std::size_t payload = 16;   // bytes
  std::uint64_t pending = 1'000;
  std::size_t shards = DurableConfig().shards;  // 1 .. kMostShards
  double seconds = 1;
  // Of churn: how many are due at once afterwards, for one worker that claims kFiredAtOnce with a call.
  std::uint64_t fires = 0;
};

inline constexpr std::size_t kFiredAtOnce = 100;

// From kill -9 until the first of what was due has been handed out, and until all of it that was not
// lost has.
struct Restart {
  double first_seconds = 0;
  double last_seconds = 0;
};

struct DurableFigures {
  std::string failure{};  // if not empty, why the rest is invalid; the status comes first
  double seconds = 0;
  std::uint64_t timers = 0;  // armed and cancelled, or fired; of a timed load both
  double client_cpu_seconds = 0;
  std::optional<double> server_cpu_seconds{};         // nothing if the engine is in the clients
  std::optional<double> server_living_cpu_seconds{};  // finer, but of no process that has ended
  std::uint64_t client_wakeups = 0;                   // how often the clients have waited
  std::optional<std::uint64_t> server_wakeups{};      // likewise
  // How often the engine had the system write to the disk; nothing if it is a server of the user's, or
  // if its calls cannot be counted (see counting_syncs.h).
  std::optional<std::uint64_t> syncs{};
  // Over TCP, between clients and servers, and among servers; of measure_idle() over unix sockets
  // too, without what the network adds. Nothing if there is no such connection, or if the kernel does
  // not tell.
  std::optional<std::uint64_t> network_bytes{};
  // Calls of the clients.
  Durations arm{};
  Durations cancel{};
  Durations claim{};
  Durations complete{};
  // Of churn: timers that the clients would arm if they did nothing else, and would cancel, by the mean
  // time of such calls.
  double schedules_per_second = 0;
  double cancels_per_second = 0;
  double fires_per_second = 0;  // of what is due afterwards
  // Of a timed load:
  Durations lateness{};
  Durations generator{};          // how late the producers made their calls
  double offered_per_second = 0;  // timers that are due
  double achieved_per_second = 0;
  bool saturated = false;
  // Of the timers that were armed before, what the engine and its files have grown by.
  double bytes_in_memory = 0;        // a timer
  double bytes_on_disk = 0;          // a timer
  std::optional<Restart> restart{};  // of measure_pending(); nothing if all that was due is lost
};

// All throw BackendError, which says what failed, Interrupted, and ProgramFailure if it would take
// too long to arm the timers before the load.
DurableFigures measure_churn(const DurableLoad& load, const DurableContender& contender,
                             const StopFlag& stop);

// `timers` are due at once. Throws ProgramFailure as well if they are not completed in `most_seconds`.
inline constexpr double kMostSecondsToFire = 60;
DurableFigures measure_fire(const DurableLoad& load, std::uint64_t timers,
                            const DurableContender& contender, const StopFlag& stop,
                            double most_seconds = kMostSecondsToFire);

// measure_churn(), and then how long a killed engine takes to be back.
DurableFigures measure_pending(const DurableLoad& load, const DurableContender& contender,
                               const StopFlag& stop);

DurableFigures measure_idle(const DurableLoad& load, const DurableContender& contender,
                            const StopFlag& stop);

// The seconds are the plan's.
DurableFigures measure_timed(const DurableLoad& load, const DurablePlan& plan,
                             const DurableContender& contender, const StopFlag& stop);
DurableFigures measure_timed_control(const DurableLoad& load, const DurablePlan& plan,
                                     const StopFlag& stop);

}  // namespace timerbench
