// One thread, one heap: tasks run in the timer's own thread, one after the other.
//
// The thread runs the timer on top of the heap if it is due, and otherwise sleeps until it is. A
// slow handler therefore delays all others. A handler that throws ends the service: nothing fires
// any more, and schedule() throws. cancel() only marks a timer, without the lock. The entry stays
// in the heap until it comes to the top, when the thread wakes for it, or until a purge. schedule()
// and the thread purge the heap when they find that more than half of it is marked. Moving a timer
// marks it and arms another.
//
// Cost:
//   schedule  the mutex, O(1) expected, O(log n) worst; amortised O(1) more for purging
//   cancel    two atomic operations: on the timer's line, which 8 timers share, and on the count of
//             pending timers, which all share
//   fire      the mutex, O(log n)
//   8 bytes an id, and 24 for each entry of the heap: after schedule() or a wakeup at most
//   2 * size() + 65 entries. cancel() removes no entry, so before that there may be more
//
// Good: it is the simplest service, and threads that cancel take no mutex.
// Bad: one slow task delays all timers, and one that throws ends them.
// Follows: java.util.Timer.
// Deviates: steady time, not the wall clock's; deadlines in the past and up to kNever - 1 are
//   legal; a pending timer can be armed anew; the service purges by itself; after a handler has
//   thrown, stop() still hands back what was pending, which Java throws away.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <vector>

#include "core/timer_queue.h"
#include "services/handler_runs.h"
#include "services/timer_service.h"
#include "services/worker.h"

namespace timerbench {

class JavaTimer {
 public:
  static constexpr ServiceTraits traits{
      .name = "java_timer",
      .summary = "heap, one thread that also runs the tasks; one that throws ends it",
      .precision = Precision::exact,
      .paper = "java.util.Timer",
      .ends_when_handler_throws = true};

  explicit JavaTimer(const ServiceConfig& config)
      : clock_(config.clock),
        runs_(config.handler),
        armings_(config.capacity),
        thread_(clock_,
                [this](Alarm& alarm, const std::stop_token& ending) { run(alarm, ending); }) {}

  JavaTimer(const JavaTimer&) = delete;
  JavaTimer& operator=(const JavaTimer&) = delete;

  // REQUIRES: not in the handler.
  ~JavaTimer() { end(); }

  void schedule(TimerId id, Tick deadline) {
    {
      const std::lock_guard lock(mutex_);
      if (ended_) throw ServiceStopped();
      const Arming arming = begin(id);
      purge_if_mostly_marked();
      heap_.push_back({deadline, arming, id});
      std::push_heap(heap_.begin(), heap_.end());
      if (deadline >= asleep_until_) return;
      asleep_until_ = 0;
    }
    thread_.alarm().ring();
  }

  bool cancel(TimerId id) {
    for (;;) {
      const Arming arming = armings_[id].load();
      if (!is_pending(arming)) return false;
      if (end(id, arming)) return true;  // otherwise it has ended or was moved meanwhile
    }
  }

  // Throws std::bad_alloc once nothing runs any more. Then the next call returns what was pending.
  std::vector<PendingTimer> stop() {
    end();
    std::vector<PendingTimer> pending;
    const std::lock_guard lock(mutex_);
    pending.reserve(size_);
    for (const Entry& entry : heap_) {
      if (end(entry.id, entry.arming)) pending.push_back({entry.id, entry.deadline});
    }
    heap_.clear();
    return pending;
  }

  // Entries in the heap, those that were cancelled included.
  std::size_t entries() const {
    const std::lock_guard lock(mutex_);
    return heap_.size();
  }

  std::size_t size() const { return size_; }
  std::uint64_t failures() const { return runs_.failures(); }
  std::uint64_t wakeups() const { return thread_.wakeups(); }

 private:
  // How often a timer was armed plus how often an arming has ended: odd while it is pending.
  using Arming = std::uint64_t;

  struct Entry {
    Tick deadline;
    Arming arming;
    TimerId id;

    friend bool operator<(const Entry& a, const Entry& b) { return a.deadline > b.deadline; }
  };

  // A heap this small is not worth purging.
  static constexpr std::size_t kSmallDebt = 64;

  static bool is_pending(Arming arming) { return arming % 2 == 1; }

  // Begins a new arming. A pending one ends in the same step, so that no cancel() comes in between
  // and finds neither. REQUIRES: the mutex is held.
  Arming begin(TimerId id) {
    Arming arming = armings_[id].load();
    if (is_pending(arming) && armings_[id].compare_exchange_strong(arming, arming + 2)) {
      return arming + 2;
    }
    ++size_;
    armings_[id].store(arming + 1);  // no other thread changes a timer that is not pending
    return arming + 1;
  }

  // Ends an arming, by a cancel or a fire. Of several threads only one succeeds.
  bool end(TimerId id, Arming arming) {
    if (!armings_[id].compare_exchange_strong(arming, arming + 1)) return false;
    --size_;
    return true;
  }

  // Ends all waiting, and returns when no handler runs any more, except one that calls this.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    thread_.end();
    runs_.await_end();
  }

  void run(Alarm& alarm, const std::stop_token& ending) {
    std::unique_lock lock(mutex_);
    while (!ending.stop_requested()) {
      purge_if_mostly_marked();
      if (!ended_ && !heap_.empty() && heap_.front().deadline <= clock_.now()) {
        const Entry due = pop();
        if (!end(due.id, due.arming)) continue;  // it was cancelled
        runs_.begin();
        asleep_until_ = 0;
        lock.unlock();
        const bool returned = runs_.run({due.id, due.deadline});
        lock.lock();
        if (!returned) ended_ = true;
      } else {
        const Tick until = ended_ || heap_.empty() ? kNever : heap_.front().deadline;
        asleep_until_ = until;
        lock.unlock();
        alarm.wait_until(until);
        lock.lock();
      }
    }
  }

  Entry pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    const Entry entry = heap_.back();
    heap_.pop_back();
    return entry;
  }

  void purge_if_mostly_marked() {
    if (heap_.size() <= 2 * size_ + kSmallDebt) return;
    std::erase_if(heap_,
                  [this](const Entry& entry) { return armings_[entry.id].load() != entry.arming; });
    std::make_heap(heap_.begin(), heap_.end());
  }

  Clock& clock_;
  HandlerRuns runs_;
  std::vector<std::atomic<Arming>> armings_;  // by id
  std::atomic<std::size_t> size_ = 0;

  mutable std::mutex mutex_;  // of the following
  std::vector<Entry> heap_;
  Tick asleep_until_ = 0;  // 0: awake, and about to look
  bool ended_ = false;

  Worker thread_;  // last: it uses all the others
};
static_assert(TimerService<JavaTimer>);

}  // namespace timerbench
