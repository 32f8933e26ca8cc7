// A clock whose alarms keep a record of every wait: when it began, until when it was meant to last,
// when it ended. It tells how late the system wakes a service up, and when the service slept.
//
// A wait costs two more looks at the clock, 20 ns each, and 24 bytes that grow without a lock and
// without moving what is there. The records come to the clock when the alarm goes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "services/clock.h"

namespace timerbench {

struct Wait {
  Tick begin;
  Tick until;  // kNever: only for a ring
  Tick end;

  bool timed() const { return until != kNever; }
  bool rung() const { return end < until; }
};

// REQUIRES: outlives its alarms, and `clock` outlives it. A thread waits by alarms of one watched
// clock in its life.
class WatchedClock final : public Clock {
 public:
  explicit WatchedClock(Clock& clock) : clock_(clock) {}

  Tick now() const override { return clock_.now(); }
  std::unique_ptr<Alarm> make_alarm() override;

  // How many waits of all alarms have ended. Any thread may ask at any time.
  std::uint64_t wakeups() const { return wakeups_.load(std::memory_order_relaxed); }

  // The number of the alarm by which the calling thread waited last; kNoAlarm: it never has.
  static std::uint32_t alarm_of_this_thread();
  static constexpr std::uint32_t kNoAlarm = ~std::uint32_t{0};

  // By alarm number, the waits of each in order. REQUIRES: no alarm is left.
  const std::vector<std::vector<Wait>>& waits() const { return waits_; }

 private:
  class WatchedAlarm;

  Clock& clock_;
  std::atomic<std::uint64_t> wakeups_ = 0;
  std::mutex mutex_;  // of the following
  std::vector<std::vector<Wait>> waits_;
};

}  // namespace timerbench
