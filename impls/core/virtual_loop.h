// What the adapters of libraries' event loops share: a clock that stands where it is set, and what is
// known of the next timer.
//
// A library that asks the system for the time is linked as a copy, in which the system's functions
// have other names (virtual_loop.cmake). Those that tell the time are here. An adapter replaces the
// one that sleeps with its own, which sets the clock to the end of the sleep.
#pragma once

#include <sys/time.h>
#include <time.h>

#include <algorithm>

#include "core/timer_queue.h"

namespace timerbench {

// The time that loops of this thread read.
inline thread_local timespec virtual_now{};

// When a loop must run again.
//
// A loop tells when its first timer is due only in an iteration, to the call that sleeps, before
// anything fires. So it has not told while nothing but an iteration that fired is known.
class LoopWakeup {
 public:
  // No later than the first timer, if there is one.
  Tick at() const { return at_; }

  // Whether it is as late as the loop tells.
  bool is_told() const { return is_told_; }

  void on_armed(Tick deadline) {
    if (deadline > at_) return;
    at_ = deadline;
    is_told_ = true;
  }

  // An iteration ran at `now`. If it fired nothing, the loop would have slept until `told`.
  void on_iteration(Tick now, bool has_fired, Tick told) {
    is_told_ = !has_fired;
    at_ = has_fired ? now + 1 : std::max(now + 1, told);
  }

 private:
  Tick at_ = kNever;
  bool is_told_ = true;
};

}  // namespace timerbench

// What libraries call instead of clock_gettime() and gettimeofday().
extern "C" {
[[gnu::used]] inline int virtual_clock_gettime(clockid_t, timespec* time) {
  *time = timerbench::virtual_now;
  return 0;
}

[[gnu::used]] inline int virtual_gettimeofday(timeval* time, void*) {
  const timespec& now = timerbench::virtual_now;
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}
}
