// Real time, and the only way to wait for it.
//
// A Clock tells the time and makes alarms. A thread sleeps on its Alarm until an instant, or until
// another thread rings it. The alarm keeps a ring that comes before the sleep, so that none is
// lost. All services wait through alarms, so how they wait is chosen in one place; under a
// ManualClock they wait until a test sets the time. Instants are Ticks of 1 ns.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

inline constexpr Tick kMillisecond = 1'000'000;
inline constexpr Tick kHour = 3'600'000 * kMillisecond;

// The instant that is `by` later, or kNever if that is beyond the end of time.
constexpr Tick later(Tick instant, Tick by) { return instant + std::min(by, kNever - instant); }

// REQUIRES: one thread at a time waits. Any thread may ring while the alarm exists.
class Alarm {
 public:
  Alarm() = default;
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  virtual ~Alarm() = default;

  // Returns once the clock shows `instant` (kNever: never), or once somebody has rung since the
  // last wait.
  void wait_until(Tick instant) {
    do_wait_until(instant);
    wakeups_.fetch_add(1, std::memory_order_relaxed);
  }

  // Ends the wait, or the next one if nobody waits.
  virtual void ring() = 0;

  // How many waits have ended: what an idle service costs.
  std::uint64_t wakeups() const { return wakeups_.load(std::memory_order_relaxed); }

 private:
  virtual void do_wait_until(Tick instant) = 0;

  std::atomic<std::uint64_t> wakeups_ = 0;
};

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  virtual Tick now() const = 0;

  // Throws BackendError if the system refuses what this way of waiting needs.
  virtual std::unique_ptr<Alarm> make_alarm() = 0;
};

// Ways to wait. The kernel may be late by the thread's timer slack, 50 us unless it is set.
enum class Waiting {
  condition,        // a condition variable with a time-out: a futex
  timerfd,          // timerfd and eventfd under epoll, as an event loop does
  nanosleep,        // clock_nanosleep with 1 ns of timer slack; rung by a signal
  spin,             // reads the clock until then: uses a whole processor
  sleep_then_spin,  // a condition variable until shortly before, then spins
};

inline constexpr Waiting kWaitings[] = {Waiting::condition, Waiting::timerfd, Waiting::nanosleep,
                                        Waiting::spin, Waiting::sleep_then_spin};

std::string_view name(Waiting waiting);

// std::chrono::steady_clock.
class SteadyClock final : public Clock {
 public:
  explicit SteadyClock(Waiting waiting = Waiting::condition) : waiting_(waiting) {}

  Tick now() const override;
  std::unique_ptr<Alarm> make_alarm() override;

 private:
  Waiting waiting_;
};

// Stands still until it is set. REQUIRES: outlives its alarms.
class ManualClock final : public Clock {
 public:
  Tick now() const override;
  std::unique_ptr<Alarm> make_alarm() override;

  // Ends all waits for instants up to `instant`. Time does not run backwards.
  void set(Tick instant);

  // Returns when a thread waits on every alarm, for a later instant and without a ring: everything
  // that could happen by now has happened.
  void settle();

 private:
  class ManualAlarm;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Tick now_ = 0;
  std::vector<const ManualAlarm*> alarms_;
};

}  // namespace timerbench
