// libev's loop on a thread of its own: ev_timer, armed from other threads by ev_async_send().
//
// The whole library runs as it is, with its own clock: seconds as doubles, read once an iteration
// and once more before requests are carried out. Only the loop's thread may touch its timers, so
// other threads leave a request (requests.h) and ring; libev makes many rings one. The loop sleeps
// whole milliseconds, rounded up, but fires all that is due when it wakes.
//
// Cost:
//   schedule  two mutexes; an eventfd written, unless the loop is woken already; then, in the
//             loop's thread, ev_timer_stop() and ev_timer_start(): O(log n) lines of other watchers
//   cancel    two mutexes; ev_timer_stop() when the loop runs next
//   fire      ev_timer_stop(), a mutex, and the handler
//   89 bytes a timer: a watcher of 48, an entry of 16, the deadline twice, and a flag
//
// Good: where libev runs anyway, and a millisecond late is fine.
// Bad: each arming from another thread is work for two, and the loop's part is the larger one.
// Follows: libev 4.33, ev_async_send() and ev_timer_start().
#pragma once

#include <ev.h>

#include <atomic>
#include <utility>
#include <vector>

#include "core/backend_error.h"
#include "peers/services/requests.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

namespace timerbench {

class LibevLoopTimers {
  static_assert(EV_VERSION_MAJOR == 4 && EV_VERSION_MINOR == 33,
                "libev_loop.h tells that it is of libev 4.33");

 public:
  LibevLoopTimers(TimerId capacity, MayBeDue may_be_due)
      : may_be_due_(std::move(may_be_due)),
        requests_(capacity),
        loop_(ev_loop_new(unsigned{EVBACKEND_EPOLL} | unsigned{EVFLAG_NOENV})),
        timers_(capacity) {
    if (loop_ == nullptr) throw BackendUnavailable("libev: ev_loop_new() failed");
    ev_set_userdata(loop_, this);
    ev_async_init(&bell_, take_requests);
    ev_async_start(loop_, &bell_);
    for (ev_timer& timer : timers_) ev_timer_init(&timer, tell, 0, 0);
  }

  LibevLoopTimers(const LibevLoopTimers&) = delete;
  LibevLoopTimers& operator=(const LibevLoopTimers&) = delete;
  ~LibevLoopTimers() { ev_loop_destroy(loop_); }

  void set(TimerId id, Tick deadline) {
    if (requests_.add(id, deadline)) ev_async_send(loop_, &bell_);
  }

  void run() { ev_run(loop_, 0); }

  void end() {
    is_ending_ = true;
    ev_async_send(loop_, &bell_);
  }

 private:
  static LibevLoopTimers& timers_of(struct ev_loop* loop) {
    return *static_cast<LibevLoopTimers*>(ev_userdata(loop));
  }

  static void take_requests(struct ev_loop* loop, ev_async*, int) {
    LibevLoopTimers& timers = timers_of(loop);
    if (timers.is_ending_) return ev_break(loop, EVBREAK_ALL);
    // In this order nothing is early: the loop's clock is not behind `now`.
    const Tick now = SteadyClock().now();
    ev_now_update(loop);
    timers.requests_.take([&](TimerId id, Tick deadline) { timers.start(id, deadline, now); });
  }

  void start(TimerId id, Tick deadline, Tick now) {
    ev_timer_stop(loop_, &timers_[id]);
    if (deadline == kNever) return;
    const Tick delay = deadline > now ? deadline - now : 0;
    ev_timer_set(&timers_[id], static_cast<double>(delay) * 1e-9, 0);
    ev_timer_start(loop_, &timers_[id]);
  }

  // The callback of all timers.
  static void tell(struct ev_loop* loop, ev_timer* timer, int) {
    LibevLoopTimers& timers = timers_of(loop);
    timers.may_be_due_(static_cast<TimerId>(timer - timers.timers_.data()));
  }

  const MayBeDue may_be_due_;
  Requests requests_;
  std::atomic<bool> is_ending_ = false;
  struct ev_loop* const loop_;
  ev_async bell_;
  std::vector<ev_timer> timers_;
};

class LibevLoop : public ServiceOver<LibevLoopTimers> {
 public:
  static constexpr ServiceTraits traits{.name = "libev_loop",
                                        .summary = "libev's loop, woken by ev_async_send()",
                                        .precision = Precision::exact,
                                        .paper = "libev 4.33, libev-dev",
                                        .is_library = true,
                                        .own_clock = true};

  explicit LibevLoop(const ServiceConfig& config) : ServiceOver(config) {}
};
static_assert(TimerService<LibevLoop>);

}  // namespace timerbench
