// The paced loop: a trace replayed at its own pace on the wall clock, by any timer service.
//
// Open loop: an operation is planned for start + trace time, and its deadline counts from there. The
// generator, the calling thread, waits for the planned instant by timerfd if it can, punctual to some
// 5 us and asleep in between; if it is late with one operation, the others stay where they were.
//
// The set-up of a trace takes no time: the model replays it, and what is pending at its end is armed
// before the start.
//
// The service's ids are not the trace's. In a trace a timer has fired once its deadline has passed,
// and its id may be armed again at that very instant; on the wall clock it is still on its way, and
// would be moved instead of counted as late. So an arming after a deadline gets an id that is free,
// and an id is free again when its timer has really fired or was cancelled. If none is free, for so
// many timers are late, the generator waits for one, and is late itself.
//
// The window ends where the trace does, or when the seconds are over. Timers due in it have the
// grace to fire after it, and count; those due later do not, whether they still fire or not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "realtime/ledger.h"
#include "realtime/pace.h"
#include "realtime/service.h"
#include "replay/durations.h"
#include "services/clock.h"
#include "system/stop.h"
#include "trace/trace.h"

namespace timerbench {

// What a trace comes to when it is paced. Instants are in ns from the start.
class PacedPlan {
 public:
  // Of the measured part the first `seconds`, 0: all. Throws TraceError if no time passes in it, and
  // Interrupted. O(ops log pending).
  explicit PacedPlan(Trace trace, double seconds = 0);

  std::span<const PendingTimer> before() const { return before_; }  // armed before the start
  std::span<const Op> ops() const { return ops_; }
  Tick end() const { return end_; }
  // When the timers that fire in the window do if none is late, in order: what a control that
  // only sleeps is to sleep until.
  std::span<const Tick> fires() const { return fires_; }
  std::uint64_t schedules() const { return schedules_; }  // of ops()
  TimerId capacity() const { return trace_.info().capacity; }

  // The instant of a tick of the trace.
  Tick instant(Tick ticks) const;

 private:
  Trace trace_;
  std::vector<PendingTimer> before_;
  std::span<const Op> ops_;
  Tick end_ = 0;
  std::vector<Tick> fires_;
  std::uint64_t schedules_ = 0;
};

// From the call to the start of the run, in ns: time for what is armed before, and for a control
// beside it to begin.
inline constexpr Tick kLead = 100 * kMillisecond;

struct PacedOptions {
  Waiting waiting = Waiting::condition;  // of the service
  Tick granularity = 1'000'000;          // ns; of services that round
  std::optional<std::size_t> threads{};  // that run handlers; default: the service's
  Tick task_cost = 0;                    // ns for which a handler keeps its processor busy
  double grace = 2;                      // seconds after the window
};

struct PacedFigures {
  std::string failure{};     // "wrong: ...", and why; the other figures mean nothing then
  bool interrupted = false;  // the figures are of the time until then

  double seconds = 0;  // the window
  // Armings per second: planned in the window; and the rate at which the service, and the generator
  // that waits for its calls, keep up with them: see pace.h. What fires at a steady delay keeps up.
  double offered = 0;
  double achieved = 0;
  bool saturated() const { return achieved < kKeepsUp * offered; }

  Accounts accounts{};      // of all armings
  std::uint64_t early = 0;  // fires before their deadline; in the distributions they are 0 late

  // Of the timers that were due in the window and have fired.
  Durations lateness{};
  Durations rounding{};
  Durations wakeup{};
  Durations processing{};
  double first_lateness = 0;  // of the timer that fired first, in ns
  double last_lateness = 0;

  Durations generator{};  // how late the operations were made: the harness's own part

  double elapsed = 0;             // seconds, until all that was due in the window has fired
  double cpu_seconds = 0;         // of the process in that time: service, handlers and generator
  double wakeups_per_second = 0;  // ends of waits of the service's threads
};

// Throws BackendUnavailable and BackendError. Ends within a second when `stop` is set.
PacedFigures run_paced(const PacedOptions& options, const PacedPlan& plan,
                       const ServiceBackend& backend, const StopFlag& stop);

}  // namespace timerbench
