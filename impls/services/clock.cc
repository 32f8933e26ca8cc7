#include "services/clock.h"

#include <fmt/core.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

#include "core/backend_error.h"
#include "core/descriptor.h"

namespace timerbench {
namespace {

using SteadyInstant = std::chrono::steady_clock::time_point;

// Later than the clocks of the kernel and the library can express: 292 years after the machine's
// start.
constexpr Tick kEndOfClock = std::numeric_limits<std::int64_t>::max();

Tick steady_now() {
  return static_cast<Tick>(std::chrono::steady_clock::now().time_since_epoch().count());
}

timespec to_timespec(Tick instant) {
  constexpr Tick kSecond = 1'000'000'000;
  return {.tv_sec = static_cast<time_t>(instant / kSecond),
          .tv_nsec = static_cast<long>(instant % kSecond)};
}

class ConditionAlarm final : public Alarm {
 public:
  void ring() override {
    {
      const std::lock_guard lock(mutex_);
      rung_ = true;
    }
    changed_.notify_one();
  }

 private:
  void do_wait_until(Tick instant) override {
    std::unique_lock lock(mutex_);
    const auto rung = [&] { return rung_; };
    if (instant >= kEndOfClock) {
      changed_.wait(lock, rung);
    } else {
      changed_.wait_until(lock, SteadyInstant(std::chrono::nanoseconds(instant)), rung);
    }
    rung_ = false;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

class TimerfdAlarm final : public Alarm {
 public:
  TimerfdAlarm()
      : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create"),
        bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"),
        epoll_(epoll_create1(EPOLL_CLOEXEC), "epoll_create1") {
    for (const int fd : {timer_.fd, bell_.fd}) {
      epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
      if (epoll_ctl(epoll_.fd, EPOLL_CTL_ADD, fd, &event) != 0) refuse("epoll_ctl");
    }
  }

  void ring() override { eventfd_write(bell_.fd, 1); }

 private:
  [[noreturn]] static void refuse(const char* what) {
    throw BackendUnavailable(fmt::format("{}: {}", what, std::strerror(errno)));
  }

  void do_wait_until(Tick instant) override {
    // All zeros disarm the timer, as an instant beyond the end of the clock should.
    itimerspec when{};
    if (instant < kEndOfClock) when.it_value = to_timespec(std::max<Tick>(instant, 1));
    timerfd_settime(timer_.fd, TFD_TIMER_ABSTIME, &when, nullptr);
    std::array<epoll_event, 2> events;
    while (epoll_wait(epoll_.fd, events.data(), events.size(), -1) < 0 && errno == EINTR) {
    }
    eventfd_t rings;
    eventfd_read(bell_.fd, &rings);
  }

  Descriptor timer_;
  Descriptor bell_;
  Descriptor epoll_;
};

// The instant that this thread's clock_nanosleep() is about to read or has read.
thread_local timespec* volatile sleeping_until = nullptr;

class NanosleepAlarm final : public Alarm {
 public:
  NanosleepAlarm() {
    struct sigaction action = {};
    action.sa_handler = end_sleep;
    sigaction(signal_number(), &action, nullptr);
  }

  void ring() override {
    rung_ = true;
    const std::lock_guard lock(mutex_);
    if (asleep_) pthread_kill(sleeper_, signal_number());
  }

 private:
  // The thread sanitizer calls end_sleep() later than the signal comes, and perhaps after the
  // sleep.
#ifdef __SANITIZE_THREAD__
  static constexpr Tick kLongestSleep = 10 * kMillisecond;
#else
  static constexpr Tick kLongestSleep = kEndOfClock;
#endif

  static int signal_number() { return SIGRTMIN; }

  // A signal ends a sleep. If it comes just before the sleep, after the sleeper's last look at
  // rung_, it sets the instant that the kernel is about to read to one long past.
  static void end_sleep(int) {
    if (timespec* until = sleeping_until) *until = {};
  }

  void do_wait_until(Tick instant) override {
    [[maybe_unused]] static thread_local const int set_once = prctl(PR_SET_TIMERSLACK, 1);
    timespec until;
    sleeping_until = &until;
    set_asleep(true);
    for (Tick now = steady_now(); now < instant; now = steady_now()) {
      until = to_timespec(std::min({instant, kEndOfClock, now + kLongestSleep}));
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (rung_) break;
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    }
    set_asleep(false);
    sleeping_until = nullptr;
    rung_.exchange(false);
  }

  void set_asleep(bool asleep) {
    const std::lock_guard lock(mutex_);
    sleeper_ = pthread_self();
    asleep_ = asleep;
  }

  std::atomic<bool> rung_ = false;
  std::mutex mutex_;  // keeps the sleeper alive while it is signalled
  pthread_t sleeper_;
  bool asleep_ = false;
};

// In a spinning loop, leaves the processor's units to its other hyperthread for a moment.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

class SpinAlarm final : public Alarm {
 public:
  void ring() override { rung_ = true; }

 private:
  void do_wait_until(Tick instant) override {
    while (!rung_ && steady_now() < instant) relax();
    rung_.exchange(false);
  }

  std::atomic<bool> rung_ = false;
};

class SleepThenSpinAlarm final : public Alarm {
 public:
  void ring() override {
    rung_ = true;
    sleep_.ring();
  }

 private:
  // More than the kernel is usually late by: timer slack and a wakeup.
  static constexpr Tick kSpin = 200'000;

  void do_wait_until(Tick instant) override {
    for (Tick now = steady_now(); !rung_ && now < instant; now = steady_now()) {
      if (instant - now > kSpin) {
        sleep_.wait_until(instant - kSpin);
      } else {
        relax();
      }
    }
    rung_.exchange(false);
  }

  ConditionAlarm sleep_;
  std::atomic<bool> rung_ = false;
};

}  // namespace

std::string_view name(Waiting waiting) {
  switch (waiting) {
    case Waiting::condition: return "condition";
    case Waiting::timerfd: return "timerfd";
    case Waiting::nanosleep: return "nanosleep";
    case Waiting::spin: return "spin";
    case Waiting::sleep_then_spin: return "sleep_then_spin";
  }
  __builtin_unreachable();
}

Tick SteadyClock::now() const { return steady_now(); }

std::unique_ptr<Alarm> SteadyClock::make_alarm() {
  switch (waiting_) {
    case Waiting::condition: return std::make_unique<ConditionAlarm>();
    case Waiting::timerfd: return std::make_unique<TimerfdAlarm>();
    case Waiting::nanosleep: return std::make_unique<NanosleepAlarm>();
    case Waiting::spin: return std::make_unique<SpinAlarm>();
    case Waiting::sleep_then_spin: return std::make_unique<SleepThenSpinAlarm>();
  }
  __builtin_unreachable();
}

class ManualClock::ManualAlarm final : public Alarm {
 public:
  explicit ManualAlarm(ManualClock& clock) : clock_(clock) {
    const std::lock_guard lock(clock_.mutex_);
    clock_.alarms_.push_back(this);
  }

  ~ManualAlarm() override {
    {
      const std::lock_guard lock(clock_.mutex_);
      std::erase(clock_.alarms_, this);
    }
    clock_.changed_.notify_all();
  }

  void ring() override {
    {
      const std::lock_guard lock(clock_.mutex_);
      rung_ = true;
    }
    clock_.changed_.notify_all();
  }

  // REQUIRES: the clock's mutex is held.
  bool sleeps_on() const { return asleep_ && !rung_ && clock_.now_ < until_; }

 private:
  void do_wait_until(Tick instant) override {
    std::unique_lock lock(clock_.mutex_);
    until_ = instant;
    asleep_ = true;
    clock_.changed_.notify_all();
    clock_.changed_.wait(lock, [&] { return !sleeps_on(); });
    asleep_ = false;
    rung_ = false;
  }

  ManualClock& clock_;
  Tick until_ = 0;
  bool asleep_ = false;
  bool rung_ = false;
};

Tick ManualClock::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

std::unique_ptr<Alarm> ManualClock::make_alarm() { return std::make_unique<ManualAlarm>(*this); }

void ManualClock::set(Tick instant) {
  {
    const std::lock_guard lock(mutex_);
    now_ = std::max(now_, instant);
  }
  changed_.notify_all();
}

void ManualClock::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return std::all_of(alarms_.begin(), alarms_.end(),
                       [](const ManualAlarm* alarm) { return alarm->sleeps_on(); });
  });
}

}  // namespace timerbench
