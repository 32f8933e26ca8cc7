// Any timer queue, one mutex and one thread: what most programs write first.
//
// The driver advances the queue to the clock's time, runs what is due one by one, and sleeps until
// the queue has work again. schedule() of a timer that is earlier than that rings it. Ticking, it
// looks once a granule instead, whether there is work or not, and is never rung: the periodic sweep.
//
//   schedule, cancel  the mutex, and the queue's own cost; schedule() asks next_wakeup() as well
//   fire              the mutex twice; the handler runs in the driver, so a slow one delays the rest
//   besides the queue's memory 4 bytes an id, and 16 for each timer that is due
//
// Good while one processor can serve all threads. Bad: every operation of every thread passes one
// mutex, and the driver holds it while the queue advances.
//
// Followed: libevent's and libuv's loops with a lock around; the sweep of a connection table.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/timer_queue.h"
#include "services/timer_service.h"

namespace timerbench {

enum class Drive { tickless, ticking };

template <class Queue, Drive kDrive = Drive::tickless>
class Locked {
  static constexpr std::string_view kPrefix = kDrive == Drive::tickless ? "locked_" : "ticking_";

  static constexpr auto kName = [] {
    std::array<char, kPrefix.size() + Queue::traits.name.size()> name{};
    const auto rest = std::copy(kPrefix.begin(), kPrefix.end(), name.begin());
    std::copy(Queue::traits.name.begin(), Queue::traits.name.end(), rest);
    return name;
  }();

 public:
  static constexpr ServiceTraits traits{
      .name = {kName.data(), kName.size()},
      .summary = kDrive == Drive::tickless ? "one mutex, one thread, sleeps until there is work"
                                           : "one mutex, one thread, looks once a granule",
      .precision = Queue::traits.precision,
      .paper = "event loops with a lock"};

  explicit Locked(const ServiceConfig& config)
      : config_(config),
        queue_({.capacity = config.capacity,
                .start = config.clock.now(),
                .granularity = config.granularity}),
        place_in_due_(config.capacity, kNotDue),
        alarm_(config.clock.make_alarm()),
        driver_([this] { drive(); }) {}

  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  // REQUIRES: not in the handler.
  ~Locked() { stop(); }

  void schedule(TimerId id, Tick deadline) {
    bool is_earlier;
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) throw ServiceStopped("the service is stopped: nothing can be scheduled");
      take_from_due(id);
      queue_.schedule(id, deadline);
      is_earlier = kDrive == Drive::tickless && queue_.next_wakeup() < asleep_until_;
    }
    if (is_earlier) alarm_->ring();
  }

  bool cancel(TimerId id) {
    const std::lock_guard lock(mutex_);
    return queue_.cancel(id) || take_from_due(id);
  }

  std::vector<PendingTimer> stop() {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    if (std::this_thread::get_id() != driver_id_) {
      lock.unlock();
      alarm_->ring();
      const std::lock_guard joining(join_mutex_);
      if (driver_.joinable()) driver_.join();
      lock.lock();
    }

    queue_.advance(kNever - 1, [&](TimerId id, Tick deadline) { add_to_due(id, deadline); });
    std::vector<PendingTimer> pending;
    for (std::size_t i = 0; i < due_.size(); ++i) {
      if (take_due(i)) pending.push_back(due_[i]);
    }
    return pending;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return queue_.size() + due_count_;
  }

  std::uint64_t failures() const {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

  std::uint64_t wakeups() const { return alarm_->wakeups(); }

 private:
  static constexpr std::uint32_t kNotDue = std::numeric_limits<std::uint32_t>::max();

  void drive() {
    std::unique_lock lock(mutex_);
    driver_id_ = std::this_thread::get_id();
    while (!stopped_) {
      due_.clear();
      const Tick now = config_.clock.now();
      queue_.advance(now, [&](TimerId id, Tick deadline) { add_to_due(id, deadline); });
      if (!due_.empty()) {
        run_due(lock);
        continue;  // time has passed
      }
      asleep_until_ = kDrive == Drive::tickless ? queue_.next_wakeup() : now + config_.granularity;
      lock.unlock();
      alarm_->wait_until(asleep_until_);
      lock.lock();
      asleep_until_ = 0;
    }
  }

  // Runs what is in due_ and not taken out of it meanwhile.
  void run_due(std::unique_lock<std::mutex>& lock) {
    for (std::size_t i = 0; i < due_.size() && !stopped_; ++i) {
      if (!take_due(i)) continue;
      const PendingTimer timer = due_[i];
      lock.unlock();
      bool failed = false;
      try {
        config_.handler(timer.id, timer.deadline);
      } catch (...) {
        failed = true;
      }
      lock.lock();
      failures_ += failed;
    }
  }

  void add_to_due(TimerId id, Tick deadline) {
    place_in_due_[id] = static_cast<std::uint32_t>(due_.size());
    due_.push_back({id, deadline});
    ++due_count_;
  }

  // Returns whether the timer was due and had not run.
  bool take_from_due(TimerId id) {
    if (place_in_due_[id] == kNotDue) return false;
    place_in_due_[id] = kNotDue;
    --due_count_;
    return true;
  }

  bool take_due(std::size_t i) {
    return place_in_due_[due_[i].id] == i && take_from_due(due_[i].id);
  }

  const ServiceConfig config_;
  mutable std::mutex mutex_;  // of all below but the alarm
  Queue queue_;
  std::vector<PendingTimer> due_;  // out of the queue; those taken out of it stay in place
  std::vector<std::uint32_t> place_in_due_;  // of each id
  std::size_t due_count_ = 0;
  Tick asleep_until_ = 0;  // 0: awake, and about to look by itself
  bool stopped_ = false;
  std::uint64_t failures_ = 0;
  std::thread::id driver_id_;

  const std::unique_ptr<Alarm> alarm_;
  std::mutex join_mutex_;
  std::thread driver_;  // last: it uses all the others
};

template <class Queue>
using Ticking = Locked<Queue, Drive::ticking>;

}  // namespace timerbench
