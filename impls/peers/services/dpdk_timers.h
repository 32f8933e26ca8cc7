// DPDK's rte_timer: a skip list for a thread that polls all the time.
//
// The thread is registered with DPDK and owns the list. It asks rte_timer_manage() without a pause,
// as a program that polls its network cards does, so it takes a whole processor, and nothing wakes
// it. Other threads arm and stop timers in its list under the list's lock. The clock is the
// processor's counter, whose rate is measured first: DPDK rounds it to 10 MHz, so timers would be
// off by 0.2 % of their delay. DPDK runs on ordinary pages (--no-huge), without devices.
//
// A thread that arms or stops a timer whose callback runs must wait for that, so the callback only
// notes the id, and the handler runs afterwards.
//
// Cost:
//   schedule  a mutex, the list's lock, O(log n): a line of another timer for each step
//   cancel    the same
//   fire      O(1), a mutex, and the handler
//   128 bytes a timer: rte_timer, in two or three lines, and the deadline
//
// Good: late by less than a microsecond, while a processor is there for nothing else.
// Bad: where threads sleep.
// Follows: DPDK's librte_timer, after Pugh's skip list (1990).
#pragma once

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_timer.h>
#include <rte_version.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/backend_error.h"
#include "peers/services/service_over.h"
#include "services/clock.h"
#include "services/timer_service.h"

namespace timerbench {

class RteTimers {
  static_assert(RTE_VER_YEAR == 22 && RTE_VER_MONTH == 11,
                "dpdk_timers.h tells that it is of DPDK 22.11");

 public:
  RteTimers(TimerId capacity, MayBeDue may_be_due)
      : may_be_due_(std::move(may_be_due)), timers_(capacity) {
    static const bool is_started = start();
    if (!is_started) {
      throw BackendUnavailable(std::string("DPDK does not start: ") + rte_strerror(rte_errno));
    }
    for (rte_timer& timer : timers_) rte_timer_init(&timer);
  }

  RteTimers(const RteTimers&) = delete;
  RteTimers& operator=(const RteTimers&) = delete;

  void set(TimerId id, Tick deadline) {
    if (deadline == kNever) return rte_timer_stop_sync(&timers_[id]);
    const Tick now = clock_.now();
    constexpr Tick kLongest = kHour * 24 * 365;  // in cycles it does not overflow
    const auto delay = static_cast<double>(std::min(deadline - std::min(deadline, now), kLongest));
    owner_.wait(kNobody);
    if (owner_ == kRefused) {
      throw BackendLimit("DPDK knows " + std::to_string(RTE_MAX_LCORE) +
                         " threads at most; make fewer services at a time");
    }
    rte_timer_reset_sync(&timers_[id], static_cast<std::uint64_t>(delay * cycles_a_ns_) + 1, SINGLE,
                         owner_, note, this);
  }

  void run() {
    const bool is_refused = rte_thread_register() != 0;
    owner_ = is_refused ? kRefused : rte_lcore_id();
    owner_.notify_all();
    if (is_refused) return;
    while (!is_ending_) {
      rte_timer_manage();
      for (const TimerId id : std::exchange(due_, {})) may_be_due_(id);
    }
    for (rte_timer& timer : timers_) rte_timer_stop_sync(&timer);
    rte_thread_unregister();
  }

  void end() { is_ending_ = true; }

 private:
  static constexpr unsigned kNobody = LCORE_ID_ANY;
  static constexpr unsigned kRefused = kNobody - 1;

  static bool start() {
    // It pins the thread that starts it, so to the processors that this thread has anyway.
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    std::string processors;
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
      if (!CPU_ISSET(i, &set)) continue;
      if (!processors.empty()) processors += ',';
      processors += std::to_string(i);
    }
    std::vector<std::string> words{"timerbench",
                                   "--no-huge",
                                   "--no-shconf",
                                   "--no-pci",
                                   "--no-telemetry",
                                   "--log-level=error",
                                   "-m",
                                   "64",
                                   "--lcores=0@(" + processors + ")"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) >= 0 &&
           rte_timer_subsystem_init() == 0;
  }

  // Measured once, in 50 ms.
  static double cycles_a_ns() {
    static const double measured = [] {
      const SteadyClock clock;
      const Tick begin = clock.now();
      const std::uint64_t cycles = rte_rdtsc();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const Tick end = clock.now();
      return static_cast<double>(rte_rdtsc() - cycles) / static_cast<double>(end - begin);
    }();
    return measured;
  }

  // The callback of all timers, in run().
  static void note(rte_timer* timer, void* pointer) {
    auto* const timers = static_cast<RteTimers*>(pointer);
    timers->due_.push_back(static_cast<TimerId>(timer - timers->timers_.data()));
  }

  const MayBeDue may_be_due_;
  const SteadyClock clock_;
  const double cycles_a_ns_ = cycles_a_ns();
  std::atomic<unsigned> owner_ = kNobody;  // the thread that polls
  std::atomic<bool> is_ending_ = false;
  std::vector<rte_timer> timers_;  // by id
  std::vector<TimerId> due_;       // of the thread that polls
};

class DpdkTimers : public ServiceOver<RteTimers> {
 public:
  static constexpr ServiceTraits traits{.name = "dpdk_timers",
                                        .summary = "DPDK's rte_timer, a thread that polls",
                                        .precision = Precision::exact,
                                        .paper = "DPDK 22.11, libdpdk-dev",
                                        .is_library = true,
                                        .own_clock = true};

  explicit DpdkTimers(const ServiceConfig& config) : ServiceOver(config) {}
};
static_assert(TimerService<DpdkTimers>);

}  // namespace timerbench
