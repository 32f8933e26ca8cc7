// libevent's common timeouts: a queue for each delay, whose first timer is in the heap.
//
// It is driven as libevent.h drives its heap. Each of the first 256 delays that occur becomes a common
// timeout by event_base_init_common_timeout(), which is how many the library has; timers of other
// delays go to the heap. A program knows its few delays, and which of its timers has which. Here a
// hash table finds the common timeout of a delay, unless it is that of the timer before.
//
// Invariants:
//   1. The event of a pending timer is under its deadline in the queue of its delay or, if that is no
//      common timeout, in the heap.
//   2. The loop's clock is the last advance() that ran an iteration. No timer was due since then.
//
// Cost:
//   schedule O(1): the event's two lines, those of the queue and of its last event, and an entry of
//     the hash table; libevent.h's for other delays
//   cancel O(1): the event's two lines, and both neighbours in the queue
//   advance O(fired), O(log d) of d delays for each queue whose first timer is due, and an iteration of
//     the loop, unless it is known that nothing is due; the library fires queue by queue
//   next_wakeup O(1): an iteration of the loop that polls and is broken off, clamped to 35 minutes
//   148 bytes a timer: an event, the deadline, and a place in the array of those that fired; in the
//     heap a pointer too
//
// Good: where libevent runs anyway and delays are few, as time-outs are.
// Bad: for delays that differ from timer to timer: all but the first 256 are libevent.h's.
// Follows: libevent 2.1.12, event.c.
// Deviates: the system calls of an iteration are replaced.
#pragma once

#include <cstddef>
#include <new>
#include <unordered_map>

#include "core/timer_queue.h"
#include "peers/libevent.h"

namespace timerbench {

// A timer's wait, as event_add() takes it: a common timeout of the base if there can be one.
class CommonTimeouts {
 public:
  timeval operator()(event_base* base, Tick delay) {
    if (delay != delay_) {
      delay_ = delay;
      wait_ = look_up(base, delay);
    }
    return wait_;
  }

 private:
  static constexpr std::size_t kMost = 256;  // MAX_COMMON_TIMEOUTS of the library's event.c

  timeval look_up(event_base* base, Tick delay) {
    const auto found = waits_.find(delay);
    if (found != waits_.end()) return found->second;
    const timeval plain = HeapTimeouts()(base, delay);
    if (waits_.size() == kMost) return plain;
    const timeval* const common = event_base_init_common_timeout(base, &plain);
    if (common == nullptr) throw std::bad_alloc();
    return waits_[delay] = *common;
  }

  Tick delay_ = kNever;  // the last
  timeval wait_{};       // of that
  std::unordered_map<Tick, timeval> waits_;
};

class LibeventCommonTimeouts : public LibeventTimers<CommonTimeouts> {
 public:
  static constexpr Traits traits{.name = "libevent_common_timeouts",
                                 .summary = "libevent's common timeouts: a queue for each delay",
                                 .precision = Precision::exact,
                                 .ordered = false,
                                 .paper = "libevent " LIBEVENT_VERSION ", libevent-dev",
                                 .is_library = true};
  using LibeventTimers::LibeventTimers;
};
static_assert(TimerQueue<LibeventCommonTimeouts>);

}  // namespace timerbench
