// A timer queue under audit: checks every call against the contract.
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

// A violation by an operation of a trace. The text begins with the operation's number.
struct TraceViolation {
  std::size_t operation;
  std::string text;
  std::string calls;
};

// Passes each call on to the queue. Throws ContractViolation at the first answer that breaks rules
// 1 to 9b. Holds a queue to its own promise, fire by fire: an exact one to the instant, the others
// to their tolerance. O(log n) per call.
class AuditedQueue {
 public:
  AuditedQueue(const Backend& backend, const QueueConfig& config);

  void schedule(TimerId id, Tick deadline);
  bool cancel(TimerId id);
  std::size_t advance(Tick now);

  // Simulates a driver that sleeps until next_wakeup(): wakes at each wakeup up to `now`, then at
  // `now`. Gives up after `max_wakeups` wakeups without a fire, or after the first that tells no
  // later one, for which the queue needs a licence. Returns the number of fires.
  std::size_t sleep_until(Tick now, std::size_t max_wakeups = 64);

  enum class Driver { ticking, sleeping };  // how time passes: by advance() or by sleep_until()

  // Replays `ops`. Returns the first violation, or nothing. If `stop` is set, ends early with
  // nothing.
  std::optional<TraceViolation> audit(std::span<const Op> ops, Driver driver, const StopFlag& stop);

  Tick now() const { return now_; }
  std::size_t size() const { return due_.size(); }
  Tick next_wakeup() const { return queue_.next_wakeup(); }
  // The ids that the last advance() fired, in order.
  const std::vector<TimerId>& fired() const { return fired_; }
  // Wakeups without a fire.
  std::size_t empty_wakeups() const { return empty_wakeups_; }
  std::size_t total_fired() const { return total_fired_; }

 private:
  Tick earliest(Tick deadline) const;
  Tick latest(Tick deadline) const;  // for a timer armed now
  void check_fire(TimerId id, Tick deadline, Tick now, Tick& last_due);
  void check_observers();

  Traits traits_;
  Tick granularity_;
  Tick now_;
  LoggedQueue queue_;
  Tick wakeup_ = kNever;         // next_wakeup() after the last call
  std::vector<Tick> deadlines_;  // of pending timers, by id
  Model due_;                    // pending timers by the latest instant of their fire
  std::vector<TimerId> fired_;
  std::size_t empty_wakeups_ = 0;
  std::size_t total_fired_ = 0;
};

// How to replay a trace under audit.
struct Conditions {
  Tick start = 0;  // of the clock
  Tick granularity = 1;
  AuditedQueue::Driver driver = AuditedQueue::Driver::ticking;
};

}  // namespace timerbench
