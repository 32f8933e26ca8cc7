// Kafka's timer: a hierarchical wheel under a reader-writer lock, whose buckets have locks of their
// own and wait in a delay queue.
//
// Level 0 has 20 buckets of one tick; each further level has 20 buckets as wide as the whole level
// below. A timer goes into the lowest level that reaches its tick from the wheel's time. The first
// timer of a bucket puts the bucket into the delay queue, at the beginning of its span, so an empty
// wheel does not tick. The reaper polls that queue. When a bucket is due, the reaper takes the
// exclusive side of the lock, sets the wheel's time to the bucket's, and moves its timers to the
// levels below, or to the executor if they are due. It repeats this until no bucket is due. A
// thread that arms a timer holds the shared side and the lock of one bucket; a thread that cancels
// holds only that of the bucket.
//
// Cost:
//   schedule  the shared side, the locks of the timer and of a bucket or two: O(levels); the first
//             timer of a bucket O(log buckets) more, and a wakeup if it is earlier than all others
//   cancel    the locks of the timer and of its bucket: O(1)
//   fire      a move for each level, under the exclusive side; the executor's mutex three
//             times, and a wakeup of its thread
//   idle      a wakeup every 200 ms
//   20 lines a level; 64 bytes an id, and the executor's 20
//
// Good: O(1) for any population, wakeups only where there are timers, and threads that cancel meet
//   only in the same bucket.
// Bad: all threads that arm share the line of the lock, and wait while a crowded bucket descends.
// Follows: org.apache.kafka.server.util.timer.SystemTimer with its SystemTimerReaper.
// Deviates: deadlines are rounded up to a tick, not down; levels reach the end of time from the
//   beginning on, where Kafka makes each on demand; a due bucket is moved while its lock is held
//   throughout, so that every timer is always in one; moving a pending timer is one operation.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <queue>
#include <shared_mutex>
#include <stop_token>
#include <vector>

#include "core/granularity.h"
#include "core/timer_queue.h"
#include "services/executor.h"
#include "services/fair_shared_mutex.h"
#include "services/slot_lists.h"
#include "services/timer_service.h"
#include "services/worker.h"

namespace timerbench {

class SystemTimer {
 public:
  static constexpr ServiceTraits traits{
      .name = "system_timer",
      .summary = "hierarchical wheel, reader-writer lock, a lock a bucket, reaper and executor",
      .precision = Precision::granular,
      .paper = "Kafka SystemTimer",
      .threads = 1};

  explicit SystemTimer(const ServiceConfig& config)
      : clock_(config.clock),
        granularity_(config.granularity),
        widths_(widths_up_to(granularity_.ceil(kNever - 1))),
        now_(granularity_.floor(clock_.now())),
        buckets_(config.capacity, kSlots * widths_.size()),
        starts_(kSlots * widths_.size()),
        executor_(config, handler_threads(config, traits)),
        reaper_(clock_,
                [this](Alarm& alarm, const std::stop_token& ending) { reap(alarm, ending); }) {}

  SystemTimer(const SystemTimer&) = delete;
  SystemTimer& operator=(const SystemTimer&) = delete;

  // REQUIRES: not in the handler.
  ~SystemTimer() { end(); }

  void schedule(TimerId id, Tick deadline) {
    bool is_due;
    {
      const std::shared_lock time_stands(time_lock_);
      if (stopped_) throw ServiceStopped();
      const auto lock = buckets_.lock_timer(id);
      if (!buckets_.remove(id)) executor_.take_back(id);
      const Tick tick = granularity_.ceil(deadline);
      is_due = tick <= now_;
      if (is_due) {
        executor_.submit(id, deadline);
      } else {
        buckets_.append(find_bucket(tick), id, deadline);
      }
    }
    if (is_due) executor_.run_submitted();
  }

  bool cancel(TimerId id) {
    const auto lock = buckets_.lock_timer(id);
    return buckets_.remove(id) || executor_.take_back(id);
  }

  // Throws std::bad_alloc once nothing runs any more. Then the next call returns what was pending.
  std::vector<PendingTimer> stop() {
    end();
    std::vector<PendingTimer> pending;
    const std::lock_guard time_stands(time_lock_);
    pending.reserve(size());
    buckets_.take_all(pending);
    executor_.drain(pending);
    return pending;
  }

  std::size_t size() const { return buckets_.size() + executor_.size(); }
  std::uint64_t failures() const { return executor_.failures(); }
  std::uint64_t wakeups() const { return reaper_.wakeups() + executor_.wakeups(); }

 private:
  static constexpr std::size_t kSlots = 20;
  static constexpr Tick kLongestPoll = 200'000'000;  // 200 ms

  struct QueuedBucket {
    Tick start;
    SlotLists::List bucket;

    friend bool operator<(const QueuedBucket& a, const QueuedBucket& b) {
      return a.start > b.start;  // on top of a std::priority_queue is the largest
    }
  };

  // The ticks of a bucket of each level; 20 buckets of the last one reach beyond `last`.
  static std::vector<Tick> widths_up_to(Tick last) {
    std::vector<Tick> widths{1};
    while (widths.back() <= last / kSlots) widths.push_back(widths.back() * kSlots);
    return widths;
  }

  // The bucket for a future tick; puts it into the delay queue if it is not there.
  // REQUIRES: time_lock_ is held.
  SlotLists::List find_bucket(Tick tick) {
    std::size_t level = 0;
    while (level + 1 < widths_.size() && tick - begin_of_level(level) >= widths_[level + 1])
      ++level;
    const Tick slot = tick / widths_[level];
    const auto bucket = static_cast<SlotLists::List>(level * kSlots + slot % kSlots);
    const Tick start = slot * widths_[level];
    if (starts_[bucket].exchange(start) != start) enqueue({start, bucket});
    return bucket;
  }

  Tick begin_of_level(std::size_t level) const { return now_ - now_ % widths_[level]; }

  // Ends all waiting, and returns when no handler runs any more, except one that calls this.
  void end() {
    executor_.close();
    {
      const std::lock_guard nobody_arms(time_lock_);
      stopped_ = true;
    }
    reaper_.end();
    executor_.end();
  }

  void enqueue(QueuedBucket bucket) {
    {
      const std::lock_guard lock(queue_mutex_);
      queue_.push(bucket);
      if (granularity_.instant(bucket.start) >= asleep_until_) return;
      asleep_until_ = 0;
    }
    reaper_.alarm().ring();
  }

  void reap(Alarm& alarm, const std::stop_token& ending) {
    while (!ending.stop_requested()) {
      if (const auto first = poll()) {
        descend(*first);
        executor_.run_submitted();
      } else {
        alarm.wait_until(sleep_until());
      }
    }
  }

  // The due bucket that is first, if any is due.
  std::optional<QueuedBucket> poll() {
    const std::lock_guard lock(queue_mutex_);
    if (queue_.empty() || queue_.top().start > granularity_.floor(clock_.now())) return {};
    asleep_until_ = 0;
    const QueuedBucket first = queue_.top();
    queue_.pop();
    return first;
  }

  Tick sleep_until() {
    const std::lock_guard lock(queue_mutex_);
    const Tick first = queue_.empty() ? kNever : granularity_.instant(queue_.top().start);
    return asleep_until_ = std::min(first, later(clock_.now(), kLongestPoll));
  }

  // Empties this bucket and all others that are due.
  void descend(QueuedBucket first) {
    const std::lock_guard time_moves(time_lock_);
    for (std::optional<QueuedBucket> due = first; due; due = poll()) {
      // Time never goes back: an earlier bucket may have been queued between the first poll and the
      // lock.
      now_ = std::max(now_, due->start);
      buckets_.sweep(due->bucket, [this](TimerId id, Tick deadline) {
        const Tick tick = granularity_.ceil(deadline);
        if (tick > now_) return find_bucket(tick);
        executor_.submit(id, deadline);
        return SlotLists::kNoList;
      });
    }
  }

  Clock& clock_;
  const Granularity granularity_;
  const std::vector<Tick> widths_;

  FairSharedMutex time_lock_;  // of the following two
  Tick now_;                   // the wheel's time: a bucket's, not the clock's
  bool stopped_ = false;

  SlotLists buckets_;  // those of level 0 come first
  // By bucket, the start with which it was last put into the delay queue. Timers that come after a
  // bucket was emptied belong to a later round of it, or to a lower level.
  std::vector<std::atomic<Tick>> starts_;

  std::mutex queue_mutex_;  // of the following two
  std::priority_queue<QueuedBucket> queue_;
  Tick asleep_until_ = 0;  // of the reaper; 0: awake, and about to look

  Executor executor_;
  Worker reaper_;  // last: it uses all the others
};
static_assert(TimerService<SystemTimer>);

}  // namespace timerbench
