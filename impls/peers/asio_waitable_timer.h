// Asio's timers by its public interface: basic_waitable_timer on a clock that stands where it is set,
// in an io_context that one thread polls.
//
// The whole library runs, with its system calls: an iteration that may fire something asks the
// kernel by epoll_wait(), and sets the loop's timerfd anew; so does arming a timer that is earlier
// than all others. The timerfd always says that something is due, for it counts the machine's time.
// What it would have been set for is told to the traits of the wait, a part of the interface.
//
// A wait that is cancelled completes too, in the next iteration, with an error. So an iteration runs
// if something may be due or a wait was cancelled; a loop would not sleep then. A tick is the
// clock's. It counts in 63 bits, so timers of the next 2^62 ticks are the library's, and others wait
// in core/far_store.h.
//
// Invariants:
//   1. A pending timer that is near has one wait, which ends without an error.
//   2. The loop's clock is the last advance() that ran an iteration. No timer was due since then.
//
// Cost:
//   schedule O(log n): an allocation, and the lines of asio.h; a system call if it is the earliest
//   cancel O(log n): the same backwards, and a queue of what completes
//   advance O(fired log n), and three system calls, unless there is nothing to do
//   next_wakeup O(1)
//   250 bytes a timer: its object, a wait of 120 bytes, an entry of the heap, and the deadline
//
// Good: where Asio runs anyway.
// Bad: for many short timers: each iteration enters the kernel.
// Follows: Boost.Asio 1.18, basic_waitable_timer.hpp.
#pragma once

#include <algorithm>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/version.hpp>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <vector>

#include "core/far_store.h"
#include "core/timer_queue.h"
#include "core/virtual_loop.h"

namespace timerbench {

// A clock as those of <chrono>.
struct AsioVirtualClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::duration<rep, period>;
  using time_point = std::chrono::time_point<AsioVirtualClock>;
  static constexpr bool is_steady = true;

  static time_point at(Tick tick) { return time_point(duration(static_cast<rep>(tick))); }
  static time_point now() noexcept { return at(tick); }

  static inline thread_local Tick tick = 0;
};

// How long to wait for the first timer.
struct AsioVirtualWait {
  using Duration = AsioVirtualClock::duration;

  static Duration to_wait_duration(const Duration& duration) {
    told = static_cast<Tick>(std::max<Duration::rep>(duration.count(), 0));
    return Duration::zero();
  }
  static Duration to_wait_duration(const AsioVirtualClock::time_point& instant) {
    return to_wait_duration(instant - AsioVirtualClock::now());
  }

  static inline thread_local Tick told = kNever;
};

// The timers of a window of core/far_store.h.
class AsioWaitableTimers {
  static_assert(BOOST_ASIO_VERSION / 100 == 1018,
                "asio_waitable_timer.h was written for Boost.Asio 1.18; see whether poll() still "
                "runs what is due and what was cancelled at once");

 public:
  static constexpr Tick kLast = Tick{1} << 62;

  explicit AsioWaitableTimers(const QueueConfig& config) : deadlines_(config.capacity, kNever) {
    timers_.reserve(config.capacity);
    for (TimerId id = 0; id < config.capacity; ++id) timers_.emplace_back(loop_);
  }

  void start(TimerId id, Tick at) {
    assert(id < timers_.size());
    AsioVirtualClock::tick = now_;
    aborted_ += timers_[id].expires_at(AsioVirtualClock::at(at));
    timers_[id].async_wait([this, id](const boost::system::error_code& error) {
      if (error) {
        --aborted_;
      } else {
        fired_.push_back(id);
      }
    });
    size_ += deadlines_[id] == kNever;
    deadlines_[id] = at;
    wakeup_.on_armed(at);
  }

  bool stop(TimerId id) {
    assert(id < timers_.size());
    if (deadlines_[id] == kNever) return false;
    aborted_ += timers_[id].cancel();
    deadlines_[id] = kNever;
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t run(Tick at, Sink&& sink) {
    if (at < wakeup_.at() && aborted_ == 0) return 0;  // a loop sleeps until then
    now_ = at;
    AsioVirtualClock::tick = at;
    AsioVirtualWait::told = kNever;
    fired_.clear();
    loop_.restart();
    loop_.poll();
    const Tick told = AsioVirtualWait::told;
    wakeup_.on_iteration(at, /*has_fired=*/false, told == kNever ? kNever : at + told);
    for (const TimerId id : fired_) sink(id, std::exchange(deadlines_[id], kNever));
    size_ -= fired_.size();
    if (at == kLast) {  // the next window begins, and nothing is armed
      now_ = 0;
      wakeup_ = {};
    }
    return fired_.size();
  }

  Tick next() const { return size_ == 0 ? kNever : wakeup_.at(); }

  std::size_t size() const { return size_; }

 private:
  using Timer = boost::asio::basic_waitable_timer<AsioVirtualClock, AsioVirtualWait>;

  Tick now_ = 0;
  std::size_t size_ = 0;
  std::size_t aborted_ = 0;  // waits that are cancelled and have not completed
  LoopWakeup wakeup_;
  std::vector<Tick> deadlines_;  // by id; kNever: not pending
  std::vector<TimerId> fired_;   // in this run()
  boost::asio::io_context loop_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};
  std::vector<Timer> timers_;  // by id
};

class AsioWaitableTimer : public WithFarStore<AsioWaitableTimers> {
 public:
  static constexpr Traits traits{.name = "asio_waitable_timer",
                                 .summary = "Asio's public timers, with their system calls",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Boost.Asio 1.18, libboost-dev",
                                 .is_library = true};

  using WithFarStore::WithFarStore;
};
static_assert(TimerQueue<AsioWaitableTimer>);

}  // namespace timerbench
