// libevent's loop on a thread of its own: timer events, which any thread arms under a lock.
//
// The whole library runs as it is, with evthread_use_pthreads(): event_add() and
// event_del_noblock() may be called by any thread, and wake the loop if the new timer is the first.
// The library does not tell whether event_del() came before the callback, so cancel() asks
// service_over.h.
//
// libevent has two clocks. Its usual one is the kernel's coarse clock, which stands still between
// the kernel's ticks (4 ms with CONFIG_HZ=250), and the loop sleeps whole milliseconds. The other
// (EVENT_BASE_FLAG_PRECISE_TIMER, `_precise` here) is exact, and the loop sleeps by a timerfd. The
// cache of the clock is off, since other threads arm timers while the loop runs handlers, long
// after its iteration began.
//
// Cost:
//   schedule  a mutex, the loop's lock twice, two clock reads, and O(log n) lines of other events;
//             an eventfd written if the timer is the first
//   cancel    a mutex, the loop's lock, O(log n)
//   fire      O(log n), the loop's lock thrice, a mutex, and the handler
//   152 bytes a timer: an event of 128, its owner, a pointer of the heap, and the deadline
//
// Good: where libevent runs anyway, for some thousand timers: no thread works for another.
// Bad: all threads and the loop meet at one lock; each comparison of the heap follows a pointer.
// Follows: libevent 2.1.12, event_add() and evthread_use_pthreads().
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/thread.h>
#include <event2/util.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/backend_error.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

namespace timerbench {

enum class LibeventClock { coarse, precise };

template <LibeventClock kClock>
class LibeventLoopTimers {
 public:
  LibeventLoopTimers(TimerId capacity, MayBeDue may_be_due)
      : may_be_due_(std::move(may_be_due)), base_(make_base()), clock_(make_clock()) {
    event_assign(&bell_, base_.get(), -1, 0, break_loop, base_.get());
    timers_.resize(capacity);
    for (Timer& timer : timers_) {
      timer.owner = this;
      event_assign(&timer.event, base_.get(), -1, 0, tell, &timer);
    }
  }

  LibeventLoopTimers(const LibeventLoopTimers&) = delete;
  LibeventLoopTimers& operator=(const LibeventLoopTimers&) = delete;

  ~LibeventLoopTimers() {
    event_del(&bell_);
    for (Timer& timer : timers_) event_del(&timer.event);
  }

  void set(TimerId id, Tick deadline) {
    event* const timer = &timers_[id].event;
    if (deadline == kNever) {
      event_del_noblock(timer);
      return;
    }
    const Tick now = this->now();
    const Tick delay = deadline > now ? deadline - now : 0;
    const Tick us = delay / 1'000 + (delay % 1'000 > 0);
    const timeval wait{.tv_sec = static_cast<time_t>(us / 1'000'000),
                       .tv_usec = static_cast<suseconds_t>(us % 1'000'000)};
    if (event_add(timer, &wait) != 0) throw std::bad_alloc();
  }

  void run() { event_base_loop(base_.get(), EVLOOP_NO_EXIT_ON_EMPTY); }

  // Not event_base_loopbreak(), which a loop that begins afterwards forgets.
  void end() { event_active(&bell_, EV_TIMEOUT, 0); }

 private:
  static constexpr bool kIsPrecise = kClock == LibeventClock::precise;

  struct Timer {
    struct event event;
    LibeventLoopTimers* owner;
  };
  struct Free {
    void operator()(event_base* base) const { event_base_free_nofinalize(base); }
    void operator()(event_config* options) const { event_config_free(options); }
    void operator()(evutil_monotonic_timer* clock) const { evutil_monotonic_timer_free(clock); }
  };

  static event_base* make_base() {
    if (evthread_use_pthreads() != 0) throw BackendUnavailable("libevent: it has no threads");
    const std::unique_ptr<event_config, Free> options(event_config_new());
    int flags = EVENT_BASE_FLAG_IGNORE_ENV | EVENT_BASE_FLAG_NO_CACHE_TIME;
    if (kIsPrecise) flags |= EVENT_BASE_FLAG_PRECISE_TIMER;
    event_config_set_flag(options.get(), flags);
    event_base* const base = event_base_new_with_config(options.get());
    if (base == nullptr) throw BackendUnavailable("libevent: event_base_new() failed");
    return base;
  }

  static evutil_monotonic_timer* make_clock() {
    evutil_monotonic_timer* const clock = evutil_monotonic_timer_new();
    if (clock == nullptr) throw std::bad_alloc();
    evutil_configure_monotonic_time(clock, kIsPrecise ? EV_MONOT_PRECISE : 0);
    return clock;
  }

  // The loop's clock, which is behind the system's if it is coarse. With it nothing is early.
  Tick now() const {
    timeval now;
    evutil_gettime_monotonic(clock_.get(), &now);
    return (static_cast<Tick>(now.tv_sec) * 1'000'000 + static_cast<Tick>(now.tv_usec)) * 1'000;
  }

  static void break_loop(evutil_socket_t, short, void* base) {
    event_base_loopbreak(static_cast<event_base*>(base));
  }

  // The callback of all timers.
  static void tell(evutil_socket_t, short, void* argument) {
    const auto* const timer = static_cast<const Timer*>(argument);
    LibeventLoopTimers& timers = *timer->owner;
    timers.may_be_due_(static_cast<TimerId>(timer - timers.timers_.data()));
  }

  const MayBeDue may_be_due_;
  const std::unique_ptr<event_base, Free> base_;
  const std::unique_ptr<evutil_monotonic_timer, Free> clock_;
  event bell_;
  std::vector<Timer> timers_;
};

template <LibeventClock kClock>
class LibeventLoop : public ServiceOver<LibeventLoopTimers<kClock>> {
  static constexpr bool kIsPrecise = kClock == LibeventClock::precise;

 public:
  static constexpr ServiceTraits traits{
      .name = kIsPrecise ? "libevent_loop_precise" : "libevent_loop",
      .summary = kIsPrecise ? "libevent's loop with threads, its exact clock and a timerfd"
                            : "libevent's loop with threads, its usual coarse clock",
      .precision = Precision::exact,
      .paper = "libevent " LIBEVENT_VERSION ", libevent-dev",
      .is_library = true,
      .own_clock = true};

  explicit LibeventLoop(const ServiceConfig& config)
      : ServiceOver<LibeventLoopTimers<kClock>>(config) {}
};
static_assert(TimerService<LibeventLoop<LibeventClock::coarse>>);

}  // namespace timerbench
