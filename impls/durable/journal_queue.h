// A durable timer queue of one process: our own floor, without an engine.
//
// The timers are in a timer queue in memory and in an append-only file (durable/journal_store.h).
// The threads of the process share them; another process cannot open the file meanwhile.
//
// Cost:
//   schedule, cancel, complete  O(1) in a log wheel, one append to a buffer, and the wait for the
//     next synchronisation of the disk, which all threads share
//   post                        the same without the wait: it is on the disk with the next change of
//     any client, or when a megabyte has come together; until then a crash of the process loses it
//   claim, give_back            O(1) a timer in memory, nothing on disk
//   await_earlier               a condition variable, which is signalled if the first instant has
//     become an earlier one
//   fsync    1 for all calls that came during the one before, and, with `gather`, while it waited
//   on disk  25 bytes a timer that is armed, and its payload, and as much when it is gone; at most
//     1 MiB, or twice what is armed if that is more
//   in memory some 200 bytes a timer and its payload, up to 300 just after the tables have grown
//   start    reads the file: 0.2 s for 10^6 timers
//
// What is acknowledged survives kill -9 and a power cut. If the file is damaged, who opens it is told
// on stderr.
//
// Good: one process, and nothing to look after.
// Bad: all timers are in memory; no other process can take over while this one lives.
// Follows: group commit (DeWitt et al. 1984); write-ahead logs with snapshots as in Redis' AOF.
// Deviates: a call waits for the disk as long as that takes, whatever DurableConfig::patience says.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "durable/durable_queue.h"
#include "durable/journal_store.h"
#include "queues/log_wheel.h"

namespace timerbench {

class JournalQueue final : public DurableQueue {
 public:
  static constexpr const char* kFile = __builtin_FILE();  // DurableTraits::file

  using Store = JournalStore<LogWheel<256>>;

  // Deadlines are rounded up to it.
  static constexpr Tick kGranularity = 1'000'000;

  JournalQueue(std::shared_ptr<Store> store, DurableConfig config)
      : store_(std::move(store)), config_(std::move(config)) {}

  void schedule(std::span<const DurableTimer> timers) override { store_->schedule(timers); }
  void post(std::span<const DurableTimer> timers) override { store_->post(timers); }
  bool cancel(DurableId id) override { return store_->cancel(id); }
  Claims claim(std::size_t most, Tick lease) override {
    return store_->claim(most, lease, config_.now);
  }
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override {
    return store_->complete(claims);
  }
  void give_back(std::span<const ClaimedTimer> claims) override { store_->give_back(claims); }
  bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) override {
    return store_->await_earlier(next_wakeup, longest);
  }
  std::size_t size() override { return store_->size(); }

 private:
  const std::shared_ptr<Store> store_;
  const DurableConfig config_;
};

}  // namespace timerbench
