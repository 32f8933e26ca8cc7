// The kernel's timers as POSIX has them: timer_create() for each, and a thread that takes signals.
//
// Any thread sets the timer of an id, in ns of CLOCK_MONOTONIC, with a system call. A timer that
// ends sends a real-time signal with its id to the service's thread (SIGEV_THREAD_ID), which has
// blocked it and takes one at a time by sigwaitinfo(). A timer is made when its id is first armed,
// and kept.
//
// Each has a signal reserved, of which a user may have so many (RLIMIT_SIGPENDING). Where that
// ends, schedule() throws BackendLimit, and the cell says `limit`.
//
// Cost:
//   schedule  a mutex and timer_settime(): O(log n), and a search for the timer in a hash table that
//             does not grow; at first timer_create() too
//   cancel    the same
//   fire      an interrupt, a signal, sigwaitinfo(), a mutex, and the handler
//   24 bytes a timer here; in the kernel a timer with its signal, some 400 bytes
//
// Good: for some thousand timers without a library and without files.
// Bad: a system call for each fire; the signals are shared with all other processes of the user.
// Follows: timer_create(2), sigwaitinfo(2).
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "core/backend_error.h"
#include "peers/services/kernel_instant.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

namespace timerbench {

class PosixTimersOfThread {
 public:
  PosixTimersOfThread(TimerId capacity, MayBeDue may_be_due)
      : may_be_due_(std::move(may_be_due)), timers_(capacity) {}

  PosixTimersOfThread(const PosixTimersOfThread&) = delete;
  PosixTimersOfThread& operator=(const PosixTimersOfThread&) = delete;

  ~PosixTimersOfThread() {
    for (const Timer& timer : timers_) {
      if (timer.is_made) timer_delete(timer.handle);
    }
  }

  void set(TimerId id, Tick deadline) {
    Timer& timer = timers_[id];
    if (!timer.is_made) make(timer, id);
    const itimerspec when{.it_interval = {}, .it_value = kernel_instant(deadline)};
    timer_settime(timer.handle, TIMER_ABSTIME, &when, nullptr);
  }

  void run() {
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, kBell);
    sigaddset(&taken, timer_signal());
    pthread_sigmask(SIG_BLOCK, &taken, nullptr);
    thread_ = gettid();
    thread_.notify_all();
    while (!is_ending_) {
      siginfo_t signal;
      if (sigwaitinfo(&taken, &signal) == timer_signal()) {
        may_be_due_(static_cast<TimerId>(signal.si_value.sival_int));
      }
    }
  }

  void end() {
    is_ending_ = true;
    tgkill(getpid(), thread(), kBell);
  }

 private:
  struct Timer {
    timer_t handle;
    bool is_made = false;
  };

  // Needs no place among the pending real-time signals, so it comes even where these are used up.
  static constexpr int kBell = SIGURG;
  static int timer_signal() { return SIGRTMIN + 1; }

  // The thread that runs, once it does.
  pid_t thread() const {
    thread_.wait(0);
    return thread_;
  }

  void make(Timer& timer, TimerId id) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = timer_signal();
    event.sigev_value.sival_int = static_cast<int>(id);
    event._sigev_un._tid = thread();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer.handle) != 0) {
      const int error = errno;
      rlimit signals;
      getrlimit(RLIMIT_SIGPENDING, &signals);
      throw BackendLimit(
          fmt::format("timer_create: {}; each timer reserves a signal, and a user may have {} "
                      "(ulimit -i); choose "
                      "fewer timers, or raise that limit",
                      std::strerror(error), signals.rlim_cur));
    }
    timer.is_made = true;
  }

  const MayBeDue may_be_due_;
  std::atomic<pid_t> thread_ = 0;
  std::atomic<bool> is_ending_ = false;
  std::vector<Timer> timers_;  // by id
};

class PosixTimers : public ServiceOver<PosixTimersOfThread> {
 public:
  static constexpr ServiceTraits traits{
      .name = "posix_timers",
      .summary = "timer_create() for each timer, whose signals one thread takes",
      .precision = Precision::exact,
      .paper = "Linux timer_create(2)",
      .is_library = true,
      .own_clock = true};

  explicit PosixTimers(const ServiceConfig& config) : ServiceOver(config) {}
};
static_assert(TimerService<PosixTimers>);

}  // namespace timerbench
