// libuv's timers: an intrusive binary heap of linked nodes.
//
// The library's own functions run: uv_timer_start(), uv_timer_stop(), and uv__run_timers(), the part
// of a loop's iteration that fires. The loop's clock is a member that the library reads once an
// iteration; it is set here instead. So no system call is made, and a tick is what libuv takes for a
// millisecond.
//
// A deadline is handed over as a delay from the loop's instant 0, so it is exact however far it is
// or how long ago. The handles are in an array, so an id finds its own, as in a program where each
// object has one.
//
// Invariants:
//   1. The handle of a pending timer is active, and its timeout is the deadline.
//   2. The loop's time is the last advance(), but 0 while a timer is started.
//
// Cost:
//   schedule O(log n): the handle's two lines, and those of one handle a level that it rises
//   cancel O(log n): the same, and a walk from the root to the last node: a handle a level
//   advance O(fired log n)
//   next_wakeup O(1): clamped to 2^31 - 1 ticks ahead
//   156 bytes a timer: a handle, and a place in the array of those that fired
//
// Good: where libuv runs anyway, for some thousand timers.
// Bad: for many: each level of the heap is another handle, in a line of its own.
// Follows: libuv 1.44, src/timer.c and src/heap-inl.h.
// Deviates: the rest of a loop's iteration (watchers, epoll) does not run.
#pragma once

#include <uv.h>

#include <cassert>
#include <new>
#include <vector>

#include "core/timer_queue.h"

// Of src/uv-common.h. The static library has them.
extern "C" void uv__run_timers(uv_loop_t* loop);
extern "C" int uv__next_timeout(const uv_loop_t* loop);  // -1: no timer

#define UV_TEXT(number) #number
#define UV_VERSION_OF(major, minor, patch) UV_TEXT(major) "." UV_TEXT(minor) "." UV_TEXT(patch)
#define UV_VERSION_TEXT UV_VERSION_OF(UV_VERSION_MAJOR, UV_VERSION_MINOR, UV_VERSION_PATCH)

namespace timerbench {

class Libuv {
  static_assert(
      UV_VERSION_MAJOR == 1 && UV_VERSION_MINOR >= 30 && UV_VERSION_MINOR <= 44,
      "libuv.h was written for libuv 1.30 to 1.44, whose uv__run_timers(loop) fires what is "
      "due by loop->time; see whether it still does");

 public:
  static constexpr Traits traits{.name = "libuv",
                                 .summary = "libuv's timers: a heap of linked nodes",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "libuv " UV_VERSION_TEXT ", libuv1-dev",
                                 .is_library = true};

  explicit Libuv(const QueueConfig& config) : now_(config.start), timers_(config.capacity) {
    fired_.reserve(config.capacity);
    if (uv_loop_init(&loop_) != 0) throw std::bad_alloc();
    loop_.data = this;
    for (uv_timer_t& timer : timers_) uv_timer_init(&loop_, &timer);
  }

  Libuv(const Libuv&) = delete;
  Libuv& operator=(const Libuv&) = delete;

  ~Libuv() {
    for (uv_timer_t& timer : timers_) uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    uv_loop_close(&loop_);
  }

  void schedule(TimerId id, Tick deadline) {
    size_ += !is_pending(id);
    loop_.time = 0;
    uv_timer_start(&timers_[id], note_fire, deadline, 0);
    loop_.time = now_;
  }

  bool cancel(TimerId id) {
    if (!is_pending(id)) return false;
    uv_timer_stop(&timers_[id]);
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    loop_.time = now;
    fired_.clear();
    uv__run_timers(&loop_);
    size_ -= fired_.size();
    for (const TimerId id : fired_) sink(id, timers_[id].timeout);
    return fired_.size();
  }

  Tick next_wakeup() const {
    return size_ == 0 ? kNever : now_ + static_cast<Tick>(uv__next_timeout(&loop_));
  }

  std::size_t size() const { return size_; }

 private:
  bool is_pending(TimerId id) const {
    assert(id < timers_.size());
    return uv_is_active(reinterpret_cast<const uv_handle_t*>(&timers_[id])) != 0;
  }

  // The callback of all timers.
  static void note_fire(uv_timer_t* timer) {
    auto* const queue = static_cast<Libuv*>(timer->loop->data);
    queue->fired_.push_back(static_cast<TimerId>(timer - queue->timers_.data()));
  }

  Tick now_;
  std::size_t size_ = 0;
  std::vector<uv_timer_t> timers_;
  std::vector<TimerId> fired_;  // by this advance(); has room for all timers
  uv_loop_t loop_;
};
static_assert(TimerQueue<Libuv>);

}  // namespace timerbench
