// Operations that wait until an event completes them or their time is over, exactly once.
//
// An operation is watched by one or several keys: what it waits for. Whoever changes what a key
// stands for calls check_and_complete(key), which tries the operations that the key watches, in the
// order in which they came. A timer, of any service, ends an operation whose event comes too late.
// Whoever sets an operation's flag first completes it; everybody else then leaves it alone.
//
// A completed operation loses its timer at once, but not its places in the lists of keys. It stays
// there until a check of the key meets it, or until more than purge_interval operations have ceased
// to wait since the last purge of all lists.
//
// Cost:
//   watch     the operation's lock, a shard's lock and 16 bytes a key, the ids' lock, a schedule()
//   check     a shard's lock, once or twice, a copy of the list, the lock of each operation
//   complete  one cancel(), the ids' lock
//   expire    the ids' lock, in the thread that runs the service's handlers
//   besides the service's memory 20 bytes a timer that it could hold
//
// Good: when each event completes few operations among many.
// Bad: a check walks all operations that its key watches; a key that is never checked keeps the
//   completed ones until a purge, which walks everything.
// Follows: Kafka's DelayedOperationPurgatory (2024, in Scala), also in the order of its steps.
// Deviates: a check tries a copy of the list, and the list itself is only touched under the shard's
//   lock, so no list can be taken out of use while somebody adds to it; an operation whose timer is
//   cancelled before it is armed has none, in Kafka it has one; the purge has a thread of its own,
//   which sleeps until it is rung, while in Kafka it is the thread that waits for the timers, which
//   looks at least every 200 ms and is late with timers while it purges; what an operation throws
//   is counted.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/backend_error.h"
#include "core/timer_queue.h"
#include "services/timer_service.h"
#include "services/worker.h"

namespace timerbench {

class DelayedOperation;

// The timers of operations, as an operation sees them.
class OperationTimers {
 public:
  // Returns the operation if this prevented its expiry, otherwise nullptr. The caller may get the
  // last reference, so it must not drop it under a lock of the operation.
  virtual std::shared_ptr<DelayedOperation> cancel(TimerId id) = 0;

 protected:
  ~OperationTimers() = default;
};

// An operation that waits. Whoever holds a std::shared_ptr owns it; a purgatory does while it
// waits.
//
// try_complete() runs under the operation's own lock, and on_complete(), which it calls, usually
// does too. on_complete() may still call the purgatory, for any keys: a thread that waits for an
// operation's lock has just seen it uncompleted, and holds only locks of operations that were
// completed before, so no circle of threads waits for each other. Two things are forbidden:
// try_complete() must not check other keys before the operation is completed, and nobody may call
// the purgatory under a lock that try_complete() or on_complete() takes.
class DelayedOperation {
 public:
  // Expires at `deadline`, an instant of the purgatory's clock. REQUIRES: deadline < kNever.
  explicit DelayedOperation(Tick deadline) : deadline_(deadline) {}

  DelayedOperation(const DelayedOperation&) = delete;
  DelayedOperation& operator=(const DelayedOperation&) = delete;
  virtual ~DelayedOperation() = default;

  // Completes the operation, unless it is completed; returns whether it did. Any thread may call
  // this at any time, under any lock except those that on_complete() takes.
  bool force_complete() {
    if (completed_.exchange(true)) return false;
    const auto self = cancel_timer();  // it lives until on_complete() has returned
    on_complete();
    return true;
  }

  bool completed() const { return completed_.load(); }
  Tick deadline() const { return deadline_; }

 protected:
  // Returns force_complete() if there is nothing left to wait for, otherwise false. Runs in one
  // thread at a time.
  virtual bool try_complete() = 0;

  virtual void on_complete() = 0;

  // Runs after on_complete() if the timer completed it.
  virtual void on_expiration() {}

 private:
  template <class Service, class Key>
  friend class Purgatory;

  void set_timer(OperationTimers& timers, TimerId id) {
    const std::lock_guard lock(timer_mutex_);
    timers_ = &timers;
    timer_ = id;
  }

  // Returns whether it had one. The caller that gets true gives the id back.
  bool forget_timer() {
    const std::lock_guard lock(timer_mutex_);
    return std::exchange(timers_, nullptr) != nullptr;
  }

  // Returns the result of OperationTimers::cancel().
  std::shared_ptr<DelayedOperation> cancel_timer() {
    const std::lock_guard lock(timer_mutex_);
    timer_cancelled_ = true;
    auto self = timers_ ? timers_->cancel(timer_) : nullptr;
    if (self) timers_ = nullptr;
    return self;
  }

  bool timer_cancelled() {
    const std::lock_guard lock(timer_mutex_);
    return timer_cancelled_;
  }

  const Tick deadline_;
  std::atomic<bool> completed_ = false;
  std::recursive_mutex mutex_;  // held to watch and to try the operation

  std::mutex timer_mutex_;  // of the following
  OperationTimers* timers_ = nullptr;
  TimerId timer_ = 0;
  bool timer_cancelled_ = false;
};

struct PurgatoryConfig {
  TimerId capacity;  // operations that wait, at most
  Clock& clock;      // outlives the purgatory
  std::size_t purge_interval = 1000;
};

struct PurgatoryFull : std::runtime_error {
  explicit PurgatoryFull(std::size_t capacity)
      : std::runtime_error(
            fmt::format("the purgatory is full: {} operations wait; give it a larger "
                        "capacity, or complete some first",
                        capacity)) {}
};

// All member functions may be called by any thread at any time, those of operations included.
// Service: a TimerService, or a type with its operations. Key: a type that std::hash takes.
template <class Service, class Key = std::string>
class Purgatory final : private OperationTimers {
 public:
  using OperationPtr = std::shared_ptr<DelayedOperation>;
  using MakeService = std::function<std::unique_ptr<Service>(const ServiceConfig&)>;

  explicit Purgatory(
      const PurgatoryConfig& config,
      const MakeService& make = [](const ServiceConfig& c) { return std::make_unique<Service>(c); })
      : purge_interval_(config.purge_interval),
        owners_(config.capacity),
        free_ids_(config.capacity),
        purger_(config.clock,
                [this](Alarm& alarm, const std::stop_token& ending) {
                  purge_when_rung(alarm, ending);
                }),
        service_(make({.capacity = config.capacity,
                       .clock = config.clock,
                       .handler = [this](TimerId id, Tick) { expire(id); }})) {
    std::iota(free_ids_.rbegin(), free_ids_.rend(), TimerId{0});
  }

  Purgatory(const Purgatory&) = delete;
  Purgatory& operator=(const Purgatory&) = delete;

  // REQUIRES: not in an operation, and nobody is still completing one that waits here.
  ~Purgatory() { stop(); }

  // Returns whether the operation could be completed. If not, all the keys watch it from now on,
  // and it expires at its deadline. Throws
  //   PurgatoryFull        nothing has happened then
  //   ServiceStopped       it is watched then, and does not expire
  //   the exception of a service that fails: it is watched then, and may expire
  //   std::bad_alloc, or the exception of a key: some keys may watch it then; it does not expire
  // REQUIRES: no purgatory has watched it yet.
  bool try_complete_else_watch(const OperationPtr& operation, const std::vector<Key>& keys) {
    if (keys.empty()) throw std::invalid_argument("an operation must be watched by a key at least");
    TimerId id;
    {
      const std::lock_guard lock(operation->mutex_);
      if (safe_try_complete(*operation)) return true;
      id = take_id(operation);
      try {
        for (const Key& key : keys) watch(key, operation);
      } catch (...) {
        give_back(id);
        throw;
      }
      // An event from here on finds it in the lists; one that came before may have missed it.
      const bool completed = safe_try_complete(*operation);
      if (operation->completed()) {
        give_back(id);
        return completed;
      }
    }
    arm(*operation, id);
    return false;
  }

  // Tries the operations that the key watches, and returns how many of them it completed.
  std::size_t check_and_complete(const Key& key) {
    std::size_t completed = 0;
    bool any_completed = false;  // by this thread or another
    for (const OperationPtr& operation : watchers(key)) {
      if (!operation->completed() && safe_try_complete(*operation)) ++completed;
      any_completed |= operation->completed();
    }
    if (any_completed) drop_completed(key);
    return completed;
  }

  // Removes all operations from the key and returns them. They no longer expire; other keys still
  // watch them.
  std::vector<OperationPtr> cancel_for_key(const Key& key) {
    std::vector<OperationPtr> operations;
    {
      Shard& shard = shard_of(key);
      const std::lock_guard lock(shard.mutex);
      if (auto list = shard.watchers.extract(key)) operations = std::move(list.mapped());
    }
    for (const OperationPtr& operation : operations) operation->cancel_timer();
    return operations;
  }

  // Returns when no operation is expiring any more (except one that calls this itself), and hands
  // back those that now never expire. Keys still watch them. O(capacity).
  std::vector<OperationPtr> stop() {
    std::vector<bool> is_handed_back(owners_.size());
    for (const PendingTimer& timer : service_->stop()) is_handed_back[timer.id] = true;
    std::vector<OperationPtr> pending;
    for (TimerId id = 0; id < owners_.size(); ++id) {
      OperationPtr operation = owner(id);
      if (!operation || !operation->forget_timer()) continue;
      if (!is_handed_back[id]) ++failures_;
      give_back(id);
      if (!operation->completed()) pending.push_back(std::move(operation));
    }
    return pending;
  }

  // The sum of the lengths of all lists: an operation counts once for each of its keys, a completed
  // one until it is dropped. O(keys).
  std::size_t watched() const {
    std::size_t watched = 0;
    for (const Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      for (const auto& [key, list] : shard.watchers) watched += list.size();
    }
    return watched;
  }

  // Operations with a timer, those that are expiring included.
  std::size_t delayed() const {
    const std::lock_guard lock(ids_mutex_);
    return owners_.size() - free_ids_.size();
  }

  // Counts exceptions of operations that were tried or expired, cancels that the service refused,
  // and timers that it did not hand back when it was stopped.
  std::uint64_t failures() const { return failures_.load(); }

  // Ends of waits, of all threads.
  std::uint64_t wakeups() const { return service_->wakeups() + purger_.wakeups(); }

 private:
  static constexpr std::size_t kShards = 512;

  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<Key, std::vector<OperationPtr>> watchers{};  // no list is empty
  };

  Shard& shard_of(const Key& key) { return shards_[std::hash<Key>{}(key) % kShards]; }

  bool safe_try_complete(DelayedOperation& operation) {
    const std::lock_guard lock(operation.mutex_);
    try {
      return operation.try_complete();
    } catch (...) {
      ++failures_;
      return operation.completed();
    }
  }

  void watch(const Key& key, const OperationPtr& operation) {
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    shard.watchers[key].push_back(operation);
  }

  std::vector<OperationPtr> watchers(const Key& key) {
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto list = shard.watchers.find(key);
    return list == shard.watchers.end() ? std::vector<OperationPtr>{} : list->second;
  }

  void drop_completed(const Key& key) {
    std::vector<OperationPtr> dropped;  // dies after the lock is released
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto list = shard.watchers.find(key);
    if (list == shard.watchers.end()) return;
    move_completed(list->second, dropped);
    if (list->second.empty()) shard.watchers.erase(list);
  }

  void purge() {
    for (Shard& shard : shards_) {
      std::vector<OperationPtr> dropped;
      const std::lock_guard lock(shard.mutex);
      for (auto& [key, list] : shard.watchers) move_completed(list, dropped);
      std::erase_if(shard.watchers, [](const auto& entry) { return entry.second.empty(); });
    }
  }

  static void move_completed(std::vector<OperationPtr>& list, std::vector<OperationPtr>& dropped) {
    const auto completed = std::stable_partition(
        list.begin(), list.end(),
        [](const OperationPtr& operation) { return !operation->completed(); });
    dropped.insert(dropped.end(), std::move_iterator(completed), std::move_iterator(list.end()));
    list.erase(completed, list.end());
  }

  void purge_when_rung(Alarm& alarm, const std::stop_token& ending) {
    for (; !ending.stop_requested(); alarm.wait_until(kNever)) {
      {
        const std::lock_guard lock(ids_mutex_);
        if (ended_ <= purge_interval_) continue;
        ended_ = 0;
      }
      purge();
    }
  }

  // An operation owns an id from before it is watched until it has ceased to wait. The id is given
  // back once: by the watcher if the timer was never armed; by the thread whose cancel() the
  // service confirmed; by stop(); or by the fire, as its last step. Before that the owner has
  // forgotten the id, or forgets it under the lock under which it is cancelled, and no other thread
  // names it to the service. So a fire or a cancel meant for one owner never meets the next. If a
  // service fails, it is not known whether there is a timer: its owner keeps the id until that
  // fires, or until stop().
  TimerId take_id(const OperationPtr& owner) {
    const std::lock_guard lock(ids_mutex_);
    if (free_ids_.empty()) throw PurgatoryFull(owners_.size());
    const TimerId id = free_ids_.back();
    free_ids_.pop_back();
    owners_[id] = owner;
    return id;
  }

  OperationPtr owner(TimerId id) const {
    const std::lock_guard lock(ids_mutex_);
    return owners_[id];
  }

  // Returns the owner. Most callers have a reference of their own and drop this one.
  OperationPtr give_back(TimerId id) {
    OperationPtr owner;
    {
      const std::lock_guard lock(ids_mutex_);
      owner = std::move(owners_[id]);
      free_ids_.push_back(id);
      if (ended_++ != purge_interval_) return owner;
    }
    purger_.alarm().ring();
    return owner;
  }

  // REQUIRES: the caller holds no lock.
  void arm(DelayedOperation& operation, TimerId id) {
    operation.set_timer(*this, id);
    try {
      service_->schedule(id, operation.deadline());
    } catch (const ServiceStopped&) {
      if (operation.forget_timer()) give_back(id);
      throw;
    }
    // A cancel that came before the timer existed had no effect.
    if (operation.timer_cancelled()) operation.cancel_timer();
  }

  // A service that fails must not keep an operation from completing. If the timer does fire, it
  // finds the operation completed.
  OperationPtr cancel(TimerId id) override {
    try {
      return service_->cancel(id) ? give_back(id) : nullptr;
    } catch (const BackendError&) {
      ++failures_;
      return nullptr;
    }
  }

  void expire(TimerId id) {
    const OperationPtr operation = owner(id);
    if (!operation || !operation->forget_timer()) return;  // another process's, in a shared queue
    try {
      if (operation->force_complete()) operation->on_expiration();
    } catch (...) {
      ++failures_;
    }
    give_back(id);
  }

  const std::size_t purge_interval_;
  std::vector<Shard> shards_{kShards};
  std::atomic<std::uint64_t> failures_ = 0;

  mutable std::mutex ids_mutex_;      // of the following
  std::vector<OperationPtr> owners_;  // by id
  std::vector<TimerId> free_ids_;
  // Operations that have ceased to wait since the last purge: Kafka's estimated total of operations
  // minus those delayed, which a purge sets to 0.
  std::size_t ended_ = 0;

  Worker purger_;
  const std::unique_ptr<Service> service_;  // last: its handler uses all the others
};

}  // namespace timerbench
