// Any timer queue, one mutex and one thread: what most programs write first.
//
// The driver thread advances the queue to the clock's time, submits due timers to the executor, and
// sleeps until the queue has work again. A schedule() of an earlier timer rings it. A ticking
// driver looks once a granule instead, whether there is work or not, and is never rung: the
// periodic sweep. If the executor has no threads, the driver runs the handlers, and a slow handler
// delays the others. If the queue has no memory to advance, as log_wheel may not, the driver tries again
// a granule later.
//
// Cost:
//   schedule  the mutex, the executor's mutex, and the queue's own cost, next_wakeup() included
//   cancel    the mutex, and the queue's own cost
//   fire      both mutexes once, the executor's twice; a wakeup if it has threads
//   besides the queue's memory the executor's 20 bytes an id
//
// Good: while one processor can serve all threads.
// Bad: every operation of every thread takes one mutex, which the driver holds while the queue
//   advances.
// Follows: the loops of libevent and libuv with a lock around; the sweep of a connection table.
#pragma once

#include <mutex>
#include <new>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/granularity.h"
#include "core/joined_name.h"
#include "core/timer_queue.h"
#include "services/executor.h"
#include "services/timer_service.h"
#include "services/worker.h"

namespace timerbench {

enum class Drive { tickless, ticking };

template <class Queue, Drive kDrive = Drive::tickless>
class Locked {
  static_assert(!Queue::traits.remote, "it would end the driver with its first lost connection");
  static_assert(!Queue::traits.guesses_wakeup, "the driver would not sleep");

 public:
  static constexpr ServiceTraits traits{
      .name = kDrive == Drive::tickless ? kPrefixedName<"locked", Queue>
                                        : kPrefixedName<"ticking", Queue>,
      .summary = kDrive == Drive::tickless ? "one mutex, one thread, sleeps until there is work"
                                           : "one mutex, one thread, looks once a granule",
      .precision = Queue::traits.precision,
      .paper = "event loops with a lock",
      .queue = Queue::traits.name};

  explicit Locked(const ServiceConfig& config)
      : clock_(config.clock),
        granularity_(config.granularity),
        queue_({.capacity = config.capacity,
                .start = config.clock.now(),
                .granularity = config.granularity}),
        executor_(config, config.threads.value_or(0)),
        driver_(config.clock,
                [this](Alarm& alarm, const std::stop_token& ending) { drive(alarm, ending); }) {}

  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  // REQUIRES: not in the handler.
  ~Locked() { end(); }

  // Throws std::bad_alloc, and then has done nothing.
  void schedule(TimerId id, Tick deadline) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) throw ServiceStopped();
      queue_.schedule(id, deadline);
      executor_.take_back(id);
      if (kDrive == Drive::ticking || queue_.next_wakeup() >= asleep_until_) return;
      asleep_until_ = 0;
    }
    driver_.alarm().ring();
  }

  bool cancel(TimerId id) {
    const std::lock_guard lock(mutex_);
    return queue_.cancel(id) || executor_.take_back(id);
  }

  // Throws std::bad_alloc once nothing runs any more. Then the next call returns what was pending.
  std::vector<PendingTimer> stop() {
    end();
    const std::lock_guard lock(mutex_);
    // Rule 10: the sink must not throw.
    pending_.reserve(pending_.size() + queue_.size() + executor_.size());
    queue_.advance(kNever - 1, [&](TimerId id, Tick deadline) {
      pending_.push_back({id, deadline});
    });
    executor_.drain(pending_);
    // Under the lock, since another thread may stop it, too.
    return std::exchange(pending_, {});
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return queue_.size() + executor_.size();
  }

  std::uint64_t failures() const { return executor_.failures(); }
  std::uint64_t wakeups() const { return driver_.wakeups() + executor_.wakeups(); }

 private:
  // Ends all waiting, and returns when no handler runs any more, except one that calls this.
  void end() {
    executor_.close();
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    driver_.end();
    executor_.end();
  }

  void drive(Alarm& alarm, const std::stop_token& ending) {
    std::unique_lock lock(mutex_);
    while (!ending.stop_requested()) {
      const Tick now = clock_.now();
      std::size_t due = 0;
      bool has_memory = true;
      try {
        queue_.advance(now, [&](TimerId id, Tick deadline) {
          executor_.submit(id, deadline);
          ++due;
        });
      } catch (const std::bad_alloc&) {
        has_memory = false;  // what was not reached is still pending
      }
      if (due > 0) {
        asleep_until_ = 0;
        lock.unlock();
        executor_.run_submitted();
      } else {
        const Tick next = kDrive == Drive::tickless && has_memory
                              ? queue_.next_wakeup()
                              : granularity_.instant(granularity_.floor(now) + 1);
        asleep_until_ = next;
        lock.unlock();
        alarm.wait_until(next);
      }
      lock.lock();
    }
  }

  Clock& clock_;
  const Granularity granularity_;
  mutable std::mutex mutex_;  // of the following, and of moves from the queue to the executor
  Queue queue_;
  Tick asleep_until_ = 0;  // 0: awake, and about to look
  bool stopped_ = false;
  std::vector<PendingTimer> pending_;  // what stop() has found, until it returns it

  // Last, since a handler may still be in stop() when this is destroyed.
  Executor executor_;
  Worker driver_;
};

template <class Queue>
using Ticking = Locked<Queue, Drive::ticking>;

}  // namespace timerbench
