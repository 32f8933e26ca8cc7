// Deliberately broken timer services, to prove that the checks bite.
//
// One small sound service is written once: a set under a mutex, and a thread. A bug is a deviation of
// a line or two. Some of them make the process hang or end it, as they do in the field.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/type_list.h"
#include "services/handler_runs.h"
#include "services/timer_service.h"
#include "services/worker.h"

namespace timerbench {

enum class ServiceBug {
  none,
  // Seen by whoever looks once.
  fires_early,
  never_rings,
  signed_deadline,
  keeps_old_deadline,
  cancel_denies,
  cancel_true_twice,
  cancel_true_though_it_fires,
  due_cannot_be_cancelled,
  handler_under_lock,  // hangs
  exception_escapes,   // ends the process
  counts_no_failures,
  counts_moves,
  stop_forgets_what_is_due,
  runs_on_after_stop,
  stop_does_not_wait,
  stop_waits_for_timers,  // hangs
  accepts_after_stop,
  not_rung_for_a_little_earlier,
  loses_what_a_handler_arms_in_the_past,
  cancel_only_claims_beyond_8_bits,
  stop_forgets_one_of_many,
  stop_moves_deadlines_beyond_8_bits,
  // Seen now and then, or when threads race.
  fires_twice_at_times,
  loses_a_fire_at_times,
  cancel_races_with_fire,
  schedule_races_with_stop,
  loses_wakeups,
};

constexpr std::string_view name_of(ServiceBug bug) {
  switch (bug) {
    case ServiceBug::none: return "sound";
    case ServiceBug::fires_early: return "fires_early";
    case ServiceBug::never_rings: return "never_rings";
    case ServiceBug::signed_deadline: return "signed_deadline";
    case ServiceBug::keeps_old_deadline: return "keeps_old_deadline";
    case ServiceBug::cancel_denies: return "cancel_denies";
    case ServiceBug::cancel_true_twice: return "cancel_true_twice";
    case ServiceBug::cancel_true_though_it_fires: return "cancel_true_though_it_fires";
    case ServiceBug::due_cannot_be_cancelled: return "due_cannot_be_cancelled";
    case ServiceBug::handler_under_lock: return "handler_under_lock";
    case ServiceBug::exception_escapes: return "exception_escapes";
    case ServiceBug::counts_no_failures: return "counts_no_failures";
    case ServiceBug::counts_moves: return "counts_moves";
    case ServiceBug::stop_forgets_what_is_due: return "stop_forgets_what_is_due";
    case ServiceBug::runs_on_after_stop: return "runs_on_after_stop";
    case ServiceBug::stop_does_not_wait: return "stop_does_not_wait";
    case ServiceBug::stop_waits_for_timers: return "stop_waits_for_timers";
    case ServiceBug::accepts_after_stop: return "accepts_after_stop";
    case ServiceBug::not_rung_for_a_little_earlier: return "not_rung_for_a_little_earlier";
    case ServiceBug::loses_what_a_handler_arms_in_the_past:
      return "loses_what_a_handler_arms_in_the_past";
    case ServiceBug::cancel_only_claims_beyond_8_bits: return "cancel_only_claims_beyond_8_bits";
    case ServiceBug::stop_forgets_one_of_many: return "stop_forgets_one_of_many";
    case ServiceBug::stop_moves_deadlines_beyond_8_bits:
      return "stop_moves_deadlines_beyond_8_bits";
    case ServiceBug::fires_twice_at_times: return "fires_twice_at_times";
    case ServiceBug::loses_a_fire_at_times: return "loses_a_fire_at_times";
    case ServiceBug::cancel_races_with_fire: return "cancel_races_with_fire";
    case ServiceBug::schedule_races_with_stop: return "schedule_races_with_stop";
    case ServiceBug::loses_wakeups: return "loses_wakeups";
  }
  return "?";
}

template <ServiceBug kBug>
class BrokenService {
 public:
  static constexpr ServiceTraits traits{.name = name_of(kBug),
                                        .summary = "a set, one mutex, one thread",
                                        .precision = Precision::exact,
                                        .paper = ""};

  explicit BrokenService(const ServiceConfig& config)
      : clock_(config.clock),
        handler_(config.handler),
        runs_(config.handler),
        deadlines_(config.capacity, kNever),
        thread_(clock_,
                [this](Alarm& alarm, const std::stop_token& ending) { run(alarm, ending); }) {}

  ~BrokenService() { stop(); }

  void schedule(TimerId id, Tick deadline) {
    {
      std::unique_lock lock(mutex_);
      if (stopped_ && kBug != ServiceBug::accepts_after_stop) throw ServiceStopped();
      if (kBug == ServiceBug::schedule_races_with_stop) {
        lock.unlock();
        lock.lock();
      }
      if (kBug == ServiceBug::loses_what_a_handler_arms_in_the_past && handler_runs_ &&
          later(deadline, 5 * kMillisecond) <= clock_.now()) {
        return;
      }
      if (kBug == ServiceBug::counts_moves && deadlines_[id] != kNever) ++extra_size_;
      if (kBug != ServiceBug::keeps_old_deadline) remove(id);
      deadlines_[id] = deadline;
      queue_.emplace(deadline, id);
      if (later(deadline, kLittle) >= asleep_until_) return;
      asleep_until_ = 0;
    }
    if (kBug != ServiceBug::never_rings) thread_.alarm().ring();
  }

  bool cancel(TimerId id) {
    std::unique_lock lock(mutex_);
    const Tick deadline = deadlines_[id];
    if (kBug == ServiceBug::cancel_true_twice && was_cancelled_.contains(id)) return true;
    if (deadline == kNever) return false;
    if (kBug == ServiceBug::cancel_only_claims_beyond_8_bits && id >= 256) return true;
    if (kBug == ServiceBug::cancel_true_though_it_fires && deadline <= clock_.now()) return true;
    if (kBug == ServiceBug::due_cannot_be_cancelled && deadline <= clock_.now()) return false;
    if (kBug == ServiceBug::cancel_races_with_fire) {
      lock.unlock();
      lock.lock();
    }
    remove(id);
    was_cancelled_.insert(id);
    return kBug != ServiceBug::cancel_denies;
  }

  std::vector<PendingTimer> stop() {
    std::vector<PendingTimer> pending;
    if (kBug == ServiceBug::stop_waits_for_timers) {
      while (size() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      while (!queue_.empty()) {
        const auto [deadline, id] = *queue_.rbegin();
        const bool is_due = deadline <= clock_.now();
        if (kBug == ServiceBug::runs_on_after_stop && is_due) break;
        take(std::prev(queue_.end()));
        if (kBug == ServiceBug::stop_forgets_what_is_due && is_due) continue;
        const bool moves = kBug == ServiceBug::stop_moves_deadlines_beyond_8_bits && id >= 256;
        pending.push_back({id, deadline + (moves ? 1 : 0)});
      }
      if (kBug == ServiceBug::stop_forgets_one_of_many && pending.size() > 300) pending.pop_back();
    }
    thread_.end();
    if (kBug != ServiceBug::stop_does_not_wait && kBug != ServiceBug::runs_on_after_stop) {
      runs_.await_end();
    }
    return pending;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return queue_.size() + extra_size_;
  }

  std::uint64_t failures() const {
    return kBug == ServiceBug::counts_no_failures ? 0 : runs_.failures();
  }
  std::uint64_t wakeups() const { return thread_.wakeups(); }

 private:
  using Queue = std::set<std::pair<Tick, TimerId>>;

  static constexpr Tick kEarly = kBug == ServiceBug::fires_early ? kMillisecond / 2 : 0;
  static constexpr Tick kLittle = kBug == ServiceBug::not_rung_for_a_little_earlier ? 300'000 : 0;

  bool is_due(Tick deadline) const {
    if (kBug == ServiceBug::signed_deadline) {
      return static_cast<std::int64_t>(deadline) <= static_cast<std::int64_t>(clock_.now());
    }
    return deadline <= later(clock_.now(), kEarly);
  }

  void take(Queue::iterator timer) {
    deadlines_[timer->second] = kNever;
    queue_.erase(timer);
  }

  void remove(TimerId id) {
    if (deadlines_[id] != kNever) take(queue_.find({deadlines_[id], id}));
  }

  Queue::iterator first_due() {
    for (auto timer = queue_.begin(); timer != queue_.end(); ++timer) {
      if (is_due(timer->first)) return timer;
      if (kBug != ServiceBug::signed_deadline) break;
    }
    return queue_.end();
  }

  void run(Alarm& alarm, const std::stop_token& ending) {
    std::unique_lock lock(mutex_);
    while (!ending.stop_requested() ||
           (kBug == ServiceBug::runs_on_after_stop && !queue_.empty())) {
      if (const auto due = first_due(); due != queue_.end()) {
        const PendingTimer timer{due->second, due->first};
        take(due);
        asleep_until_ = 0;
        run(timer, lock);
      } else {
        const Tick until = queue_.empty() ? kNever : queue_.begin()->first - kEarly;
        if (kBug != ServiceBug::loses_wakeups) asleep_until_ = until;
        lock.unlock();
        // Services that work out how long to sleep read the clock here, outside the mutex.
        if (kBug == ServiceBug::loses_wakeups && clock_.now() < until) asleep_until_ = until;
        alarm.wait_until(until);
        lock.lock();
      }
    }
  }

  void run(const PendingTimer& timer, std::unique_lock<std::mutex>& lock) {
    ++fires_;
    if (kBug == ServiceBug::loses_a_fire_at_times && fires_ % 100 == 0) return;
    const bool twice = kBug == ServiceBug::fires_twice_at_times && fires_ % 100 == 0;
    for (int i = 0; i < (twice ? 2 : 1); ++i) {
      runs_.begin();
      handler_runs_ = true;
      if (kBug != ServiceBug::handler_under_lock) lock.unlock();
      if (kBug == ServiceBug::exception_escapes) {
        handler_(timer.id, timer.deadline);
        runs_.end();
      } else {
        runs_.run(timer);
      }
      if (kBug != ServiceBug::handler_under_lock) lock.lock();
      handler_runs_ = false;
    }
  }

  Clock& clock_;
  const FireHandler handler_;
  HandlerRuns runs_;

  mutable std::mutex mutex_;  // of the following
  Queue queue_;
  std::vector<Tick> deadlines_;  // by id; kNever: not pending
  std::set<TimerId> was_cancelled_;
  std::size_t extra_size_ = 0;
  std::uint64_t fires_ = 0;
  std::atomic<Tick> asleep_until_ = 0;  // 0: awake, and about to look by itself
  bool handler_runs_ = false;
  bool stopped_ = false;

  Worker thread_;  // last: it uses all the others
};

using SoundService = BrokenService<ServiceBug::none>;

// By the first and the last of them.
template <ServiceBug kFirst, ServiceBug kLast>
constexpr auto broken_services() {
  constexpr auto first = static_cast<std::size_t>(kFirst);
  return []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return TypeList<BrokenService<static_cast<ServiceBug>(first + kIndex)>...>{};
  }
  (std::make_index_sequence<static_cast<std::size_t>(kLast) - first + 1>{});
}

// Wrong whatever the threads do, and only if they race or work for a while.
using BrokenServices = decltype(broken_services<ServiceBug::fires_early,
                                                ServiceBug::stop_moves_deadlines_beyond_8_bits>());
using BrokenUnderLoad =
    decltype(broken_services<ServiceBug::fires_twice_at_times, ServiceBug::loses_wakeups>());

}  // namespace timerbench
