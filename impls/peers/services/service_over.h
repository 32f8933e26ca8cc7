// A timer service over the timers of others: of an event loop, of a runtime, or of the kernel.
//
// They tell which timer may be due; whether it is, is decided here. The deadline of each id is kept
// under a mutex that 1/64 of the ids share. cancel() prevents the fire exactly if it finds a
// deadline there. A timer of theirs that ends although its id was cancelled since is stale, and
// nothing happens; if its id was moved since, it is set again.
//
// Cost, beside that of the timers:
//   schedule, cancel   a mutex, a shared counter, and the line of the deadline
//   fire               the same, a clock read, and two atomic counts
//   8 bytes an id
//
// Their thread runs the handlers, so a slow handler delays the others.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <vector>

#include "peers/services/counted_thread.h"
#include "services/clock.h"
#include "services/handler_runs.h"
#include "services/timer_service.h"

namespace timerbench {

// What is called when the timer of an id may be due.
using MayBeDue = std::function<void(TimerId)>;

// Made of the number of ids, MayBeDue, and what else they need.
template <class T>
concept ForeignTimers = requires(T timers, TimerId id, Tick deadline) {
  // Any thread, but one at a time for each id. The id may be due from this instant on; kNever: no
  // more. Throws BackendLimit.
  { timers.set(id, deadline) } -> std::same_as<void>;
  // Any thread, perhaps repeatedly, and before run().
  { timers.end() } -> std::same_as<void>;
};

// Those that run in threads of the service.
template <class T>
concept LoopTimers = ForeignTimers<T> && requires(T timers) {
  // Until end() is called.
  { timers.run() } -> std::same_as<void>;
};

// Those that run in threads of their own, until they are destroyed.
template <class T>
concept RuntimeTimers = ForeignTimers<T> && requires(const T timers) {
  // How often these threads have given their processor away to wait.
  { timers.sleeps() } -> std::same_as<std::uint64_t>;
};

template <ForeignTimers Timers>
class ServiceOver {
 public:
  // `threads`: that run them. `others`: what they are made of, beside the ids and MayBeDue.
  template <class... Others>
  explicit ServiceOver(const ServiceConfig& config, std::size_t threads = 1,
                       const Others&... others)
      : clock_(config.clock),
        runs_(config.handler),
        deadlines_(config.capacity, kNever),
        timers_(
            config.capacity, [this](TimerId id) { fire_if_due(id); }, others...) {
    if constexpr (LoopTimers<Timers>) {
      for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { timers_.run(); });
    }
  }

  ServiceOver(const ServiceOver&) = delete;
  ServiceOver& operator=(const ServiceOver&) = delete;

  // REQUIRES: not in the handler.
  ~ServiceOver() { stop(); }

  void schedule(TimerId id, Tick deadline) {
    const std::lock_guard lock(mutex_of(id));
    if (stopped_) throw ServiceStopped();
    timers_.set(id, deadline);
    if (deadlines_[id] == kNever) ++size_;
    deadlines_[id] = deadline;
  }

  bool cancel(TimerId id) {
    const std::lock_guard lock(mutex_of(id));
    if (deadlines_[id] == kNever) return false;
    timers_.set(id, kNever);
    deadlines_[id] = kNever;
    --size_;
    return true;
  }

  std::vector<PendingTimer> stop() {
    stopped_ = true;
    std::vector<PendingTimer> pending;
    for (TimerId first = 0; first < kMutexes; ++first) {
      const std::lock_guard lock(mutex_of(first));
      for (std::size_t id = first; id < deadlines_.size(); id += kMutexes) {
        if (deadlines_[id] == kNever) continue;
        pending.push_back({static_cast<TimerId>(id), deadlines_[id]});
        deadlines_[id] = kNever;
        --size_;
      }
    }
    timers_.end();
    runs_.await_end();
    return pending;
  }

  std::size_t size() const { return size_; }
  std::uint64_t failures() const { return runs_.failures(); }

  std::uint64_t wakeups() const {
    if constexpr (RuntimeTimers<Timers>) return timers_.sleeps();
    std::uint64_t sleeps = 0;
    for (const CountedThread& thread : threads_) sleeps += thread.sleeps();
    return sleeps;
  }

 private:
  static constexpr TimerId kMutexes = 64;
  struct alignas(64) Mutex : std::mutex {};  // a line each

  std::mutex& mutex_of(TimerId id) { return mutexes_[id % kMutexes]; }

  void fire_if_due(TimerId id) {
    Tick deadline;
    {
      const std::lock_guard lock(mutex_of(id));
      deadline = deadlines_[id];
      if (deadline == kNever) return;
      if (clock_.now() < deadline) return timers_.set(id, deadline);
      deadlines_[id] = kNever;
      --size_;
      runs_.begin();
    }
    runs_.run({id, deadline});
  }

  const Clock& clock_;
  HandlerRuns runs_;
  std::array<Mutex, kMutexes> mutexes_;
  std::vector<Tick> deadlines_;  // by id; kNever: not pending
  std::atomic<std::size_t> size_ = 0;
  std::atomic<bool> stopped_ = false;
  Timers timers_;

  std::list<CountedThread> threads_;  // last: they use all the others
};

}  // namespace timerbench
