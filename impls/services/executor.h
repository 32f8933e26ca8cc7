// A blocking queue of due timers, and the threads that run their handlers. A timer can be taken
// back until it runs.
//
// Timers run in the order in which they were submitted. Without threads they run in the thread that
// calls run_submitted(), which is the service's own.
//
// Cost:
//   submit, take_back   a mutex, and a line or three of an IndexLists; take_back one atomic's line
//                       if no timer waits
//   run                 the mutex, and two atomic counts
//   20 bytes an id
//
// Follows: java.util.concurrent.ThreadPoolExecutor over a LinkedBlockingQueue.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <vector>

#include "core/index_lists.h"
#include "services/handler_runs.h"
#include "services/timer_service.h"
#include "services/worker.h"

namespace timerbench {

class Executor {
 public:
  Executor(const ServiceConfig& config, std::size_t threads)
      : runs_(config.handler),
        timers_(config.capacity, 1),
        submitted_(timers_.add_list()),
        idle_(room_for_alarms(threads)),
        workers_(config.clock, threads,
                 [this](Alarm& alarm, const std::stop_token& ending) { work(alarm, ending); }) {}

  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // REQUIRES: the timer is not here; run_submitted() is called afterwards.
  void submit(TimerId id, Tick deadline) {
    const std::lock_guard lock(mutex_);
    timers_.set_deadline(id, deadline);
    timers_.append(submitted_, id);
    ++size_;
  }

  // Returns whether the timer was here and had not begun to run; if so, it will not. REQUIRES: a
  // submit() of this timer happens before this call; the caller ensures that order.
  bool take_back(TimerId id) {
    if (size_ == 0) return false;  // the usual case, without the busiest mutex
    const std::lock_guard lock(mutex_);
    if (!timers_.linked(id)) return false;
    timers_.unlink(id);
    --size_;
    return true;
  }

  // Runs what was submitted, or wakes the threads that do. REQUIRES: the caller holds no lock.
  void run_submitted() {
    if (workers_.empty()) {
      std::unique_lock lock(mutex_);
      run_all(lock);
      return;
    }
    for (;;) {
      Alarm* alarm;
      {
        const std::lock_guard lock(mutex_);
        if (idle_.empty() || waking_ >= size_) return;
        alarm = idle_.back();
        idle_.pop_back();
        ++waking_;
      }
      alarm->ring();
    }
  }

  // Nothing begins to run from here on.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  // Appends to `pending` the timers that have not begun to run. REQUIRES: close() has been called;
  // nothing is submitted any more.
  void drain(std::vector<PendingTimer>& pending) {
    const std::lock_guard lock(mutex_);
    timers_.drain(submitted_, [&](TimerId id, Tick deadline) {
      pending.push_back({id, deadline});
    });
    size_ = 0;
  }

  // Ends the threads, and returns when no handler runs any more, except one that calls this.
  // REQUIRES: close() has been called.
  void end() {
    workers_.end();
    runs_.await_end();
  }

  // Timers that have not begun to run.
  std::size_t size() const { return size_; }

  std::uint64_t failures() const { return runs_.failures(); }
  std::uint64_t wakeups() const { return workers_.wakeups(); }

 private:
  void work(Alarm& alarm, const std::stop_token& ending) {
    std::unique_lock lock(mutex_);
    for (;;) {
      run_all(lock);
      if (ending.stop_requested()) return;
      idle_.push_back(&alarm);
      lock.unlock();
      alarm.wait_until(kNever);
      lock.lock();
      if (std::erase(idle_, &alarm) == 0) --waking_;
    }
  }

  void run_all(std::unique_lock<std::mutex>& lock) {
    while (!closed_) {
      const auto first = timers_.first(submitted_);
      if (!first) return;
      timers_.unlink(*first);
      --size_;
      runs_.begin();
      const PendingTimer timer{*first, timers_.deadline(*first)};
      lock.unlock();
      runs_.run(timer);
      lock.lock();
    }
  }

  HandlerRuns runs_;
  std::mutex mutex_;  // of the following; size_ may be read without it
  IndexLists timers_;
  const IndexLists::List submitted_;
  std::atomic<std::size_t> size_ = 0;
  bool closed_ = false;
  std::vector<Alarm*> idle_;  // of workers that sleep, unrung
  std::size_t waking_ = 0;    // workers that were rung and are not back yet

  Workers workers_;  // last: they use all the others
};

}  // namespace timerbench
