// libevent's timers: a binary heap of pointers to events.
//
// The library's own loop runs, as Debian's static library has it: an iteration polls, updates its
// clock and fires. Only the system calls of the iteration are replaced, as names of the linker
// (libevent.cmake): clock_gettime() and gettimeofday() tell the virtual time of core/virtual_loop.h, and
// epoll_wait() sets it to what advance() was given, as if it had slept until then. A tick is a
// millisecond, and a wait has 64 bits of seconds, so no deadline is too far.
//
// Invariants:
//   1. The event of a pending timer is in the heap under its deadline.
//   2. The loop's clock is the last advance() that ran an iteration. No timer was due since then.
//
// Cost:
//   schedule O(log n): the event's two lines, and those of one event a level that it rises
//   cancel O(log n): the same, from its place in the heap
//   advance O(fired log n), and an iteration of the loop, unless it is known that nothing is
//     due
//   next_wakeup O(1): an iteration of the loop that polls and is broken off, clamped to 35 minutes
//   148 bytes a timer: an event, a pointer, the deadline, and a place in the array of those that fired
//
// Good: where libevent runs anyway, for some thousand timers.
// Bad: for many: each comparison of the heap follows a pointer to an event.
// Follows: libevent 2.1.12, event.c and minheap-internal.h.
// Deviates: the system calls of an iteration are replaced.
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/util.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <cassert>
#include <memory>
#include <new>
#include <vector>

#include "core/timer_queue.h"
#include "core/virtual_loop.h"

namespace timerbench {

// The polls of the iteration that runs.
struct LibeventPoll {
  timespec until{};            // when they end
  int timeout = 0;             // that the last was told, in ms
  int count = 0;               // so far
  event_base* base = nullptr;  // whose second poll is broken off
};
inline thread_local LibeventPoll libevent_poll;

}  // namespace timerbench

// What the library calls instead of epoll_wait().
extern "C" [[gnu::used]] inline int libevent_core_epoll_wait(int, epoll_event*, int, int timeout) {
  timerbench::LibeventPoll& poll = timerbench::libevent_poll;
  poll.timeout = timeout;
  timerbench::virtual_now = poll.until;
  if (++poll.count == 2) event_base_loopbreak(poll.base);
  return 0;
}

namespace timerbench {

// A timer's wait, as event_add() takes it, for a timer that goes to the heap.
struct HeapTimeouts {
  timeval operator()(event_base*, Tick delay) const {
    return {.tv_sec = static_cast<time_t>(delay / 1000),
            .tv_usec = static_cast<suseconds_t>(delay % 1000 * 1000)};
  }
};

// The timers of an event_base; Timeouts says how each waits.
template <class Timeouts>
class LibeventTimers {
  static_assert(LIBEVENT_VERSION_NUMBER >> 8 == 0x02010c,
                "libevent.h was written for libevent 2.1.12; see whether event_base_loop() still "
                "polls, updates its clock and fires in this order");

 public:
  explicit LibeventTimers(const QueueConfig& config)
      : now_(config.start), events_(config.capacity), deadlines_(config.capacity) {
    fired_.reserve(config.capacity);
    virtual_now = time_of(now_);
    const std::unique_ptr<event_config, decltype(&event_config_free)> options(event_config_new(),
                                                                              event_config_free);
    event_config_set_flag(options.get(), EVENT_BASE_FLAG_NOLOCK);
    event_config_set_flag(options.get(), EVENT_BASE_FLAG_IGNORE_ENV);
    base_.reset(event_base_new_with_config(options.get()));
    if (!base_) throw std::bad_alloc();
    for (event& timer : events_) event_assign(&timer, base_.get(), -1, 0, note_fire, this);
  }

  LibeventTimers(const LibeventTimers&) = delete;
  LibeventTimers& operator=(const LibeventTimers&) = delete;

  ~LibeventTimers() {
    for (event& timer : events_) event_del(&timer);
  }

  void schedule(TimerId id, Tick deadline) {
    assert(id < events_.size());
    const bool was_pending = is_pending(id);
    wakeup_.on_armed(deadline);
    // Relative to the clock. What is due already goes before what is due now.
    const Tick start = std::min(now_, deadline);
    virtual_now = time_of(start);
    const timeval wait = timeouts_(base_.get(), deadline - start);
    if (event_add(&events_[id], &wait) != 0) throw std::bad_alloc();
    deadlines_[id] = deadline;
    size_ += !was_pending;
  }

  bool cancel(TimerId id) {
    assert(id < events_.size());
    if (!is_pending(id)) return false;
    event_del(&events_[id]);
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    if (now < wakeup_.at()) return 0;  // a loop sleeps until then
    iterate();
    size_ -= fired_.size();
    for (const TimerId id : fired_) sink(id, deadlines_[id]);
    return fired_.size();
  }

  Tick next_wakeup() const {
    if (size_ == 0) return kNever;
    if (!wakeup_.is_told()) iterate();  // nothing is due by now
    return std::max(now_, wakeup_.at());
  }

  std::size_t size() const { return size_; }

 private:
  bool is_pending(TimerId id) const {
    return event_pending(&events_[id], EV_TIMEOUT, nullptr) != 0;
  }

  // Runs one iteration, in which the loop polls until now. If nothing fires it polls again, and
  // tells how long it would sleep.
  void iterate() const {
    fired_.clear();
    virtual_now = time_of(now_);
    libevent_poll = {.until = virtual_now, .base = base_.get()};
    event_base_loop(base_.get(), EVLOOP_ONCE);
    wakeup_.on_iteration(now_, !fired_.empty(), now_ + static_cast<Tick>(libevent_poll.timeout));
  }

  static timespec time_of(Tick ms) {
    return {.tv_sec = static_cast<time_t>(ms / 1000),
            .tv_nsec = static_cast<long>(ms % 1000 * 1'000'000)};
  }

  // The callback of all timers.
  static void note_fire(evutil_socket_t, short, void* argument) {
    auto* const queue = static_cast<LibeventTimers*>(argument);
    const event* const timer = event_base_get_running_event(queue->base_.get());
    queue->fired_.push_back(static_cast<TimerId>(timer - queue->events_.data()));
  }

  struct Free {
    void operator()(event_base* base) const { event_base_free_nofinalize(base); }
  };

  Tick now_;
  std::size_t size_ = 0;
  mutable LoopWakeup wakeup_;
  std::unique_ptr<event_base, Free> base_;
  [[no_unique_address]] Timeouts timeouts_;
  std::vector<event> events_;
  std::vector<Tick> deadlines_;
  mutable std::vector<TimerId> fired_;  // by the last iteration; has room for all timers
};

class Libevent : public LibeventTimers<HeapTimeouts> {
 public:
  static constexpr Traits traits{.name = "libevent",
                                 .summary = "libevent's timers: a binary heap of pointers",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "libevent " LIBEVENT_VERSION ", libevent-dev",
                                 .is_library = true};
  using LibeventTimers::LibeventTimers;
};
static_assert(TimerQueue<Libevent>);

}  // namespace timerbench
