// libev's timers: an implicit heap of four children, whose entries hold the deadline.
//
// The library's own loop runs, as Debian's static library has it: an iteration looks when the first
// timer is due, polls, updates its clock, and fires. Only the system calls of the iteration are
// replaced, as names of the linker (libev.cmake): clock_gettime() and gettimeofday() tell the virtual
// time of core/virtual_loop.h, and epoll_wait() sets it to what advance() was given, as if it had
// slept until then.
//
// A tick is a second, which libev counts in doubles. The clock stands half a tick behind each
// instant, for a timer fires only when its deadline has passed. Doubles are exact below 2^52, so
// timers of the next 2^51 ticks are the library's, and others wait in core/far_store.h.
//
// Invariants:
//   1. The watcher of a pending timer that is near is active, and its time is the deadline.
//   2. The loop's clock is half a tick after the last advance() that ran an iteration. No timer was due
//      since then.
//
// Cost:
//   schedule O(log n): the watcher's line, and two lines of the heap a level that it rises, with the
//     watcher of each entry that moves
//   cancel O(log n): the same, from its place in the heap
//   advance O(fired log n), and an iteration of the loop, unless it is known that nothing is
//     due
//   next_wakeup O(1): an iteration of the loop, clamped to 59 ticks ahead
//   68 bytes a timer: a watcher, an entry, and a place in the array of those that fired
//
// Good: where libev runs anyway.
// Bad: for many: an entry that moves writes its place into its watcher, a line of its own.
// Follows: libev 4.33.
// Deviates: the system calls of an iteration are replaced.
#pragma once

#include <ev.h>
#include <sys/epoll.h>
#include <time.h>

#include <cassert>
#include <cmath>
#include <new>
#include <vector>

#include "core/far_store.h"
#include "core/timer_queue.h"
#include "core/virtual_loop.h"

namespace timerbench {

// The poll of the iteration that runs.
struct LibevPoll {
  timespec until{};  // when it ends
  int timeout = 0;   // that it was told, in ms
};
inline thread_local LibevPoll libev_poll;

}  // namespace timerbench

// What the library calls instead of epoll_wait().
extern "C" [[gnu::used]] inline int libev_epoll_wait(int, epoll_event*, int, int timeout) {
  timerbench::libev_poll.timeout = timeout;
  timerbench::virtual_now = timerbench::libev_poll.until;
  return 0;
}

namespace timerbench {

// The timers of a window of core/far_store.h.
class LibevTimers {
  static_assert(
      EV_VERSION_MAJOR == 4 && EV_VERSION_MINOR == 33,
      "libev.h was written for libev 4.33; see whether ev_run() still computes its timeout, "
      "polls, updates its clock and fires in this order");

 public:
  static constexpr Tick kLast = Tick{1} << 51;

  explicit LibevTimers(const QueueConfig& config) : timers_(config.capacity) {
    fired_.reserve(config.capacity);
    virtual_now = time_of(clock_);
    loop_ = ev_loop_new(unsigned{EVBACKEND_EPOLL} | unsigned{EVFLAG_NOENV} |
                        unsigned{EVFLAG_NOINOTIFY} | unsigned{EVFLAG_NOTIMERFD});
    if (loop_ == nullptr) throw std::bad_alloc();
    ev_set_userdata(loop_, this);
    for (ev_timer& timer : timers_) ev_timer_init(&timer, note_fire, 0, 0);
  }

  LibevTimers(const LibevTimers&) = delete;
  LibevTimers& operator=(const LibevTimers&) = delete;
  ~LibevTimers() { ev_loop_destroy(loop_); }

  void start(TimerId id, Tick at) {
    stop(id);
    ev_timer_set(&timers_[id], static_cast<double>(at) - clock_, 0);
    ev_timer_start(loop_, &timers_[id]);
    ++size_;
    wakeup_.on_armed(at);
  }

  bool stop(TimerId id) {
    assert(id < timers_.size());
    if (!ev_is_active(&timers_[id])) return false;
    ev_timer_stop(loop_, &timers_[id]);
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t run(Tick at, Sink&& sink) {
    if (at < wakeup_.at()) return 0;  // a loop sleeps until then
    iterate(static_cast<double>(at) + 0.5);
    size_ -= fired_.size();
    // A watcher that was stopped keeps how long it had to wait then.
    for (const TimerId id : fired_) sink(id, static_cast<Tick>(timers_[id].at + clock_));
    const std::size_t count = fired_.size();
    if (at == kLast) iterate(0.5);  // the clock of the next window; nothing is armed
    return count;
  }

  Tick next() const {
    if (size_ == 0) return kNever;
    if (!wakeup_.is_told()) iterate(clock_);  // nothing is due by now
    return wakeup_.at();
  }

  std::size_t size() const { return size_; }

 private:
  // Runs one iteration, in which the loop polls until this instant. It tells before that how long it
  // would sleep.
  void iterate(double until) const {
    const double before = clock_;
    fired_.clear();
    virtual_now = time_of(before);
    libev_poll = {.until = time_of(until)};
    ev_run(loop_, EVRUN_ONCE);
    clock_ = until;
    wakeup_.on_iteration(static_cast<Tick>(until), !fired_.empty(),
                         static_cast<Tick>(before + libev_poll.timeout / 1000.0 + 0.01));
  }

  static timespec time_of(double seconds) {
    const double whole = std::floor(seconds);
    return {.tv_sec = static_cast<time_t>(whole),
            .tv_nsec = static_cast<long>((seconds - whole) * 1e9)};
  }

  // The callback of all timers.
  static void note_fire(struct ev_loop* loop, ev_timer* timer, int) {
    auto* const timers = static_cast<LibevTimers*>(ev_userdata(loop));
    timers->fired_.push_back(static_cast<TimerId>(timer - timers->timers_.data()));
  }

  std::size_t size_ = 0;
  mutable double clock_ = 0.5;  // the loop's
  mutable LoopWakeup wakeup_;
  struct ev_loop* loop_;
  std::vector<ev_timer> timers_;
  mutable std::vector<TimerId> fired_;  // by the last iteration; has room for all timers
};

class Libev : public WithFarStore<LibevTimers> {
 public:
  static constexpr Traits traits{.name = "libev",
                                 .summary = "libev's timers: an implicit heap of four children",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "libev 4.33, libev-dev",
                                 .is_library = true};
  using WithFarStore::WithFarStore;
};
static_assert(TimerQueue<Libev>);

}  // namespace timerbench
