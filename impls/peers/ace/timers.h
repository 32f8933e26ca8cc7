// What the adapters of ACE's timer queues share.
//
// The library's own templates run, with the functor that its reactor uses: it calls a virtual
// handle_timeout(). They have no lock, since one thread runs. A tick is a millisecond, and instant 0
// is the library's first, for it takes its own 0 for none. expire() is told the instant, and
// earliest_time() tells the next one, so no clock is read.
#pragma once

#include <ace/Event_Handler.h>
#include <ace/Event_Handler_Handle_Timeout_Upcall.h>
#include <ace/Null_Mutex.h>
#include <ace/Time_Value.h>
#include <ace/Version.h>

#include <cassert>
#include <cstdint>
#include <new>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

// The timers of a window of core/far_store.h, in a queue of ACE's: Timer_Heap_T and the like.
template <template <class...> class Queue, class... Bucket>
class AceTimers : private ACE_Event_Handler {
  static_assert(ACE_MAJOR_VERSION == 7 && ACE_MINOR_VERSION == 0,
                "ace/timers.h was written for ACE 7.0; see whether its queues still have "
                "schedule(), cancel(), expire() and earliest_time()");

 public:
  static constexpr Tick kLast = Tick{1} << 62;  // beyond, Timer_Wheel_T overflows

  explicit AceTimers(const QueueConfig& config) : timers_(config.capacity) {
    fired_.reserve(config.capacity);
  }

  void start(TimerId id, Tick at) {
    stop(id);
    const void* const argument = reinterpret_cast<const void*>(std::uintptr_t{id});
    const long handle = queue_.schedule(this, argument, time_of(at));
    if (handle == kUnarmed) throw std::bad_alloc();
    timers_[id] = {handle, at};
    ++size_;
  }

  bool stop(TimerId id) {
    assert(id < timers_.size());
    if (timers_[id].handle == kUnarmed) return false;
    queue_.cancel(timers_[id].handle, nullptr, /*dont_call_handle_close=*/1);
    timers_[id].handle = kUnarmed;
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t run(Tick at, Sink&& sink) {
    fired_.clear();
    queue_.expire(time_of(at));
    size_ -= fired_.size();
    for (const TimerId id : fired_) {
      timers_[id].handle = kUnarmed;
      sink(id, timers_[id].at);
    }
    return fired_.size();
  }

  Tick next() const {
    if (size_ == 0) return kNever;
    const ACE_Time_Value& time = queue_.earliest_time();
    return static_cast<Tick>(time.sec()) * 1000 + static_cast<Tick>(time.usec()) / 1000 - 1;
  }

  std::size_t size() const { return size_; }

 private:
  static constexpr long kUnarmed = -1;

  struct Timer {
    long handle = kUnarmed;
    Tick at = 0;
  };

  static ACE_Time_Value time_of(Tick at) {
    const Tick ms = at + 1;
    return ACE_Time_Value(static_cast<time_t>(ms / 1000),
                          static_cast<suseconds_t>(ms % 1000 * 1000));
  }

  int handle_timeout(const ACE_Time_Value&, const void* argument) override {
    fired_.push_back(static_cast<TimerId>(reinterpret_cast<std::uintptr_t>(argument)));
    return 0;
  }

  std::size_t size_ = 0;
  std::vector<Timer> timers_;
  std::vector<TimerId> fired_;  // by this run(); has room for all timers
  Queue<ACE_Event_Handler*, ACE_Event_Handler_Handle_Timeout_Upcall, ACE_Null_Mutex, Bucket...>
      queue_;
};

}  // namespace timerbench
