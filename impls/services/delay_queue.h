// A heap, one lock, and takers of which one, the leader, waits for the earliest timer.
//
// Every taker does the same. Under the lock it takes the timer on top if that is due, unlocks and
// runs it. If the timer is not due and there is no leader, the taker becomes the leader and sleeps
// until it is due; if there is a leader, the taker sleeps until it is rung. A taker that takes a
// timer and leaves no leader behind rings a sleeper, which becomes the leader. A schedule() that
// comes before all other timers deposes the leader and rings a sleeper too. The deposed leader
// sleeps on; when it wakes, at its own time, it finds that it is no longer the leader and begins
// anew.
//
// Cost:
//   schedule, cancel  the mutex, O(log n): a line for each level of the heap that changes
//   fire              the mutex, O(log n), and a wakeup of the next leader
//   40 bytes a timer and 8 an id, as binary_heap
//
// Good: at most one thread wakes for a timer, and a slow handler holds up only its own taker.
// Bad: all threads share one mutex, and the heap behind it slows down as the population grows.
// Follows: java.util.concurrent.DelayQueue, with the threads that take from it.
// Deviates: cancel is O(log n), as in the queue of ScheduledThreadPoolExecutor; DelayQueue's
//   remove() searches the heap.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "core/timer_queue.h"
#include "queues/dary_heap.h"
#include "services/handler_runs.h"
#include "services/timer_service.h"
#include "services/worker.h"

namespace timerbench {

class DelayQueue {
 public:
  static constexpr ServiceTraits traits{.name = "delay_queue",
                                        .summary = "heap, one mutex, takers with a leader",
                                        .precision = Precision::exact,
                                        .paper = "java.util.concurrent.DelayQueue",
                                        .queue = BinaryHeap::traits.name,
                                        .threads = 2};

  explicit DelayQueue(const ServiceConfig& config)
      : clock_(config.clock),
        runs_(config.handler),
        heap_({.capacity = config.capacity}),
        asleep_(room_for_alarms(handler_threads(config, traits))),
        takers_(clock_, handler_threads(config, traits),
                [this](Alarm& alarm, const std::stop_token&) { take(alarm); }) {}

  DelayQueue(const DelayQueue&) = delete;
  DelayQueue& operator=(const DelayQueue&) = delete;

  // REQUIRES: not in the handler.
  ~DelayQueue() { end(); }

  void schedule(TimerId id, Tick deadline) {
    Alarm* sleeper;
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) throw ServiceStopped();
      const Tick first = heap_.next_wakeup();
      heap_.schedule(id, deadline);
      if (deadline >= first) return;
      leader_ = nullptr;
      sleeper = pick_sleeper();
    }
    if (sleeper) sleeper->ring();
  }

  bool cancel(TimerId id) {
    const std::lock_guard lock(mutex_);
    return heap_.cancel(id);
  }

  // Throws std::bad_alloc once nothing runs any more. Then the next call returns what was pending.
  std::vector<PendingTimer> stop() {
    end();
    std::vector<PendingTimer> pending;
    const std::lock_guard lock(mutex_);
    pending.reserve(heap_.size());  // rule 10: the sink must not throw
    heap_.advance(kNever - 1, [&](TimerId id, Tick deadline) {
      pending.push_back({id, deadline});
    });
    return pending;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return heap_.size();
  }

  std::uint64_t failures() const { return runs_.failures(); }
  std::uint64_t wakeups() const { return takers_.wakeups(); }

 private:
  // Ends all waiting, and returns when no handler runs any more, except one that calls this.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    takers_.end();
    runs_.await_end();
  }

  void take(Alarm& alarm) {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      if (const auto due = take_first()) {
        Alarm* const next = leader_ || heap_.size() == 0 ? nullptr : pick_sleeper();
        runs_.begin();
        lock.unlock();
        if (next) next->ring();
        runs_.run(*due);
      } else {
        Tick until = kNever;
        if (!leader_) {
          leader_ = &alarm;
          until = heap_.next_wakeup();
        }
        asleep_.push_back(&alarm);
        lock.unlock();
        alarm.wait_until(until);
      }
      lock.lock();
      std::erase(asleep_, &alarm);
      if (leader_ == &alarm) leader_ = nullptr;
    }
  }

  std::optional<PendingTimer> take_first() {
    std::optional<PendingTimer> due;
    heap_.fire_first(clock_.now(), [&](TimerId id, Tick deadline) { due = {id, deadline}; });
    return due;
  }

  // The sleeper to ring, or nullptr: the one that has slept longest, as a Java condition does.
  Alarm* pick_sleeper() {
    if (asleep_.empty()) return nullptr;
    Alarm* const sleeper = asleep_.front();
    asleep_.erase(asleep_.begin());
    return sleeper;
  }

  Clock& clock_;
  HandlerRuns runs_;
  mutable std::mutex mutex_;  // of the following
  BinaryHeap heap_;
  Alarm* leader_ = nullptr;     // of the taker that sleeps until the heap's next wakeup
  std::vector<Alarm*> asleep_;  // of takers, unrung
  bool stopped_ = false;

  Workers takers_;  // last: they use all the others
};
static_assert(TimerService<DelayQueue>);

}  // namespace timerbench
