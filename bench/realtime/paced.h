// The paced loop: a timer service replays a trace at the trace's own pace, on the wall clock.
//
// Open loop: an operation is planned for start + trace time, and its deadline counts from there.
// The generator is the calling thread, or where the service wants its callers. It sleeps until the
// planned instant, by timerfd if possible, which is punctual to some 5 us. If one operation is late,
// the others keep their planned instants.
//
// The setup of a trace takes no time: the model replays it, and the timers that it leaves pending
// are armed before the start.
//
// The service's ids differ from the trace's. In a trace a timer has fired once its deadline has
// passed, and its id may be armed again at that instant. On the wall clock the timer may still be
// about to fire, and arming its id would move it instead of counting it as late. So an arming after
// a deadline gets a free id. An id becomes free when its timer has really fired or was cancelled.
// If so many timers are late that no id is free, the generator waits for one and becomes late
// itself.
//
// The window ends where the trace ends, or when the seconds are over. Timers due in the window
// count, and have the grace period to fire after it. Timers due later do not count, whether or not
// they fire.
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

// A trace planned for the wall clock. Instants are in ns from the start.
class PacedPlan {
 public:
  // Plans the first `seconds` of the measured part; 0: all of it. Throws TraceError if no time
  // passes in it, and Interrupted. O(ops log pending).
  explicit PacedPlan(Trace trace, double seconds = 0);

  std::span<const PendingTimer> before() const { return before_; }  // armed before the start
  std::span<const Op> ops() const { return ops_; }
  Tick end() const { return end_; }
  // When the timers that fire in the window do so if none is late, in order. A control sleeps until
  // these instants.
  std::span<const Tick> fires() const { return fires_; }
  std::uint64_t schedules() const { return schedules_; }  // of ops()
  TimerId capacity() const { return trace_.info().capacity; }

  // Converts ticks of the trace to an instant.
  Tick instant(Tick ticks) const;

 private:
  Trace trace_;
  std::vector<PendingTimer> before_;
  std::span<const Op> ops_;
  Tick end_ = 0;
  std::vector<Tick> fires_;
  std::uint64_t schedules_ = 0;
};

// The time from the call to the start of the run, in ns. The timers armed before and a parallel
// control need it.
inline constexpr Tick kLead = 100 * kMillisecond;

struct PacedOptions {
  Waiting waiting = Waiting::condition;  // of the service
  Tick granularity = 1'000'000;          // ns, for services that round
  std::optional<std::size_t> threads{};  // that run handlers; default: the service's
  Tick task_cost = 0;                    // ns for which each handler keeps its processor busy
  double grace = 2;                      // seconds after the window
};

struct PacedFigures {
  std::string failure{};     // "wrong: ...", and why; if not empty, the other figures are invalid
  bool interrupted = false;  // the figures cover the time until then

  double seconds = 0;  // of the window
  // Armings per second: as planned in the window, and as the service and the waiting generator keep
  // up with (see pace.h). A service that fires with a constant delay keeps up.
  double offered = 0;
  double achieved = 0;
  bool saturated() const { return achieved < kKeepsUp * offered; }

  Accounts accounts{};      // of all armings
  std::uint64_t early = 0;  // fires before their deadline; in the distributions their lateness is 0

  // Of timers that were due in the window and have fired.
  Durations lateness{};
  Durations rounding{};
  Durations wakeup{};
  Durations processing{};
  double first_lateness = 0;  // of the timer that fired first, in ns
  double last_lateness = 0;

  Durations generator{};  // how late the operations were made: the harness's own part

  // The mean of the calls that armed timers before the start, with the harness's part of some 50
  // ns; in ns, 0 if there were none.
  double arming = 0;
  double elapsed = 0;             // seconds until the last timer due in the window fired
  double cpu_seconds = 0;         // of the process in that time: service, handlers and generator
  double wakeups_per_second = 0;  // ends of waits of the service's threads
};

// Throws BackendUnavailable and BackendError. Ends within a second of `stop`.
PacedFigures run_paced(const PacedOptions& options, const PacedPlan& plan,
                       const ServiceBackend& backend, const StopFlag& stop);

}  // namespace timerbench
