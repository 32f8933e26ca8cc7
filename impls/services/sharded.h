// Several services of one kind, each with its share of the ids: timer i belongs to service i modulo
// their number.
//
// Cost:
//   schedule, cancel, fire  as the service's; a division by a constant; of a fire, two atomic
//                           counts of the shard's handlers
//   threads, wakeups        those of the service times the number of services; if the config asks
//                           for a number of threads, each service has its share, rounded up
//
// Good: a thread whose ids all belong to one service, or to a few, shares nothing with the others.
// Bad: threads whose timers lie in all services wait for each other almost as often as with one
//   service; and each service wakes by itself, also for timers that could be fired together.
// Follows: programs for which one lock is not enough, such as memcached, Go since 1.14 and folly,
//   which have one timer structure a thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/joined_name.h"
#include "core/timer_queue.h"
#include "services/handler_runs.h"
#include "services/timer_service.h"

namespace timerbench {

template <class Service, TimerId kShards>
class Sharded {
  using SettingPart = JoinedName<LiteralPart<"sharded">, NumberPart<kShards>>;

 public:
  static constexpr ServiceTraits traits{.name = JoinedName<SettingPart, NamePart<Service>>::view,
                                        .summary = "services of this kind side by side, by id",
                                        .precision = Service::traits.precision,
                                        .paper = "one timer structure a thread: Go, folly",
                                        .queue = Service::traits.queue,
                                        .threads = kShards * Service::traits.threads,
                                        .remote = Service::traits.remote};

  explicit Sharded(const ServiceConfig& config) {
    for (TimerId shard = 0; shard < kShards; ++shard) {
      ServiceConfig own = config;
      own.capacity = config.capacity / kShards + 1;
      if (config.threads) own.threads = (*config.threads + kShards - 1) / kShards;
      own.handler = [this, handler = config.handler, shard](TimerId id, Tick deadline) {
        const Run run(handlers_[shard]);
        handler(id * kShards + shard, deadline);
      };
      shards_.emplace_back(own);
    }
  }

  Sharded(const Sharded&) = delete;
  Sharded& operator=(const Sharded&) = delete;

  // Returns when no handler runs any more, before the first shard is destroyed, because handlers of one
  // may use another. REQUIRES: not in the handler.
  ~Sharded() {
    stop_shards();
    for (Handlers& one : handlers_) one.running.await_none();
  }

  void schedule(TimerId id, Tick deadline) {
    if (stopped_.load(std::memory_order_relaxed)) throw ServiceStopped();
    shard_of(id).schedule(id / kShards, deadline);
  }

  bool cancel(TimerId id) { return shard_of(id).cancel(id / kShards); }

  // Throws std::bad_alloc, as the service's. Then the next call returns what was pending.
  std::vector<PendingTimer> stop() {
    if (!stop_shards()) throw std::bad_alloc();
    std::vector<PendingTimer> pending;
    const std::lock_guard lock(mutex_);
    std::size_t size = 0;
    for (const std::vector<PendingTimer>& part : parts_) size += part.size();
    pending.reserve(size);
    for (std::vector<PendingTimer>& part : parts_) {
      pending.insert(pending.end(), part.begin(), part.end());
      part.clear();
    }
    return pending;
  }

  std::size_t size() const { return sum(&Service::size); }
  std::uint64_t failures() const { return sum(&Service::failures); }
  std::uint64_t wakeups() const { return sum(&Service::wakeups); }

 private:
  // The handlers of a shard that run: a line of its own, so that shards share none.
  struct alignas(64) Handlers {
    RunCount running;
  };

  class Run {
   public:
    explicit Run(Handlers& handlers) : running_(handlers.running) { running_.begin(); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() { running_.end(); }

   private:
    RunCount& running_;
  };

  // Stops all shards, and keeps what they hand back. Returns whether there was memory for all of that;
  // the rest is still in the shards.
  bool stop_shards() {
    stopped_ = true;  // all at once, because handlers of one shard may use another
    bool had_memory = true;
    for (TimerId index = 0; index < kShards; ++index) {
      try {
        std::vector<PendingTimer> part = shards_[index].stop();
        for (PendingTimer& timer : part) timer.id = timer.id * kShards + index;
        const std::lock_guard lock(mutex_);
        if (!part.empty()) parts_[index] = std::move(part);
      } catch (const std::bad_alloc&) {
        had_memory = false;
      }
    }
    return had_memory;
  }

  Service& shard_of(TimerId id) { return shards_[id % kShards]; }

  template <class Count>
  Count sum(Count (Service::*count)() const) const {
    Count sum = 0;
    for (const Service& shard : shards_) sum += (shard.*count)();
    return sum;
  }

  std::atomic<bool> stopped_ = false;
  std::array<Handlers, kShards> handlers_;
  std::mutex mutex_;  // of the following
  std::array<std::vector<PendingTimer>, kShards>
      parts_;  // what stop() has found, until it returns it

  std::deque<Service> shards_;  // last: they use the others; a deque, because services do not move
};

}  // namespace timerbench
