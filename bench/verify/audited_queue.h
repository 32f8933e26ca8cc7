// A timer queue under audit: every call is checked against the contract as it happens.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/timer_queue.h"
#include "replay/backend.h"
#include "system/stop.h"
#include "trace/model.h"
#include "trace/op.h"
#include "verify/logged_queue.h"
#include "verify/violation.h"

namespace timerbench {

// A violation by an operation of a trace, whose number begins the text.
struct TraceViolation {
  std::size_t operation;
  std::string text;
  std::string calls;
};

// Passes each call on to the queue and throws ContractViolation at the first answer that rules 1 to
// 9b do not allow. Keeps to what the backend itself promises: an exact one is held to the instant,
// the others to their own latitude, fire by fire. O(log n) a call.
class AuditedQueue {
 public:
  AuditedQueue(const Backend& backend, const QueueConfig& config);

  void schedule(TimerId id, Tick deadline);
  bool cancel(TimerId id);
  std::size_t advance(Tick now);

  // Does as a driver does that sleeps until next_wakeup(): wakes at each of them up to and
  // including `now`, then at `now`. Gives up after `max_wakeups` of them without a fire. Returns
  // the fires.
  std::size_t sleep_until(Tick now, std::size_t max_wakeups = 64);

  enum class Driver { ticking, sleeping };  // time passes by advance() or by sleep_until()

  // Replays `ops`. Returns the first violation, or nothing; stops early, with nothing, when `stop` is
  // set.
  std::optional<TraceViolation> audit(std::span<const Op> ops, Driver driver, const StopFlag& stop);

  Tick now() const { return now_; }
  std::size_t size() const { return due_.size(); }
  Tick next_wakeup() const { return queue_.next_wakeup(); }
  // The ids that the last advance() fired, in order.
  const std::vector<TimerId>& fired() const { return fired_; }
  // Wakeups at which nothing fired.
  std::size_t empty_wakeups() const { return empty_wakeups_; }
  std::size_t total_fired() const { return total_fired_; }

 private:
  Tick earliest(Tick deadline) const;
  Tick latest(Tick deadline) const;  // of a timer that is armed now
  void check_fire(TimerId id, Tick deadline, Tick now, Tick& last_due);
  void check_observers() const;

  Traits traits_;
  Tick granularity_;
  Tick now_;
  LoggedQueue queue_;
  std::vector<Tick> deadlines_;  // by id, of what is pending
  Model due_;                    // pending timers by the instant at which they must have fired
  std::vector<TimerId> fired_;
  std::size_t empty_wakeups_ = 0;
  std::size_t total_fired_ = 0;
};

// How a trace is replayed under audit.
struct Conditions {
  Tick start = 0;  // of the clock
  Tick granularity = 1;
  AuditedQueue::Driver driver = AuditedQueue::Driver::ticking;
};

}  // namespace timerbench
