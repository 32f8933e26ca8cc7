// The kernel's timers as files: a timerfd for each timer, in one epoll.
//
// Any thread sets the timerfd of an id, in ns of CLOCK_MONOTONIC, with a system call; the kernel's
// red-black tree of the processor on which it did so holds the timer. One thread waits in epoll and
// learns the id of each that has ended. A timerfd is made when its id is first armed, and kept, as
// by an object that has one for all its life.
//
// Each needs a place in the process's table of files. The constructor raises the soft limit to the
// hard one. Where that ends, schedule() throws BackendLimit, and the cell says `limit`.
//
// Cost:
//   schedule  a mutex and timerfd_settime(): O(log n); at first timerfd_create() and epoll_ctl()
//   too
//   cancel    the same
//   fire      an interrupt, a wake-up of the thread unless it is awake, 1/64 of epoll_wait(), a
//             mutex, and the handler
//   12 bytes a timer here; in the kernel a file, a timer and an entry of epoll, some 900 bytes
//
// Good: for some hundred timers without a library; late by the kernel's part alone.
// Bad: for many: files are scarce, and each call enters the kernel.
// Follows: timerfd_create(2), epoll(7).
#pragma once

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/backend_error.h"
#include "core/descriptor.h"
#include "peers/services/kernel_instant.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

namespace timerbench {

class TimerfdTimers {
 public:
  TimerfdTimers(TimerId capacity, MayBeDue may_be_due)
      : may_be_due_(std::move(may_be_due)), timers_(capacity, kNone) {
    rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    watch(bell_.fd, kBell);
  }

  TimerfdTimers(const TimerfdTimers&) = delete;
  TimerfdTimers& operator=(const TimerfdTimers&) = delete;

  ~TimerfdTimers() {
    for (const int timer : timers_) {
      if (timer != kNone) close(timer);
    }
  }

  void set(TimerId id, Tick deadline) {
    if (timers_[id] == kNone) timers_[id] = make_timer(id);
    const itimerspec when{.it_interval = {}, .it_value = kernel_instant(deadline)};
    timerfd_settime(timers_[id], TFD_TIMER_ABSTIME, &when, nullptr);
  }

  void run() {
    std::array<epoll_event, 64> events;
    for (;;) {
      const int count = epoll_wait(epoll_.fd, events.data(), events.size(), -1);
      for (int i = 0; i < count; ++i) {
        if (events[i].data.u64 == kBell) return;
        may_be_due_(static_cast<TimerId>(events[i].data.u64));
      }
    }
  }

  void end() { eventfd_write(bell_.fd, 1); }

 private:
  static constexpr int kNone = -1;
  static constexpr std::uint64_t kBell = ~std::uint64_t{0};

  // Told once each time that it ends, so that nobody needs to read it.
  void watch(int fd, std::uint64_t what) {
    epoll_event event{.events = unsigned{EPOLLIN} | unsigned{EPOLLET}, .data = {.u64 = what}};
    if (epoll_ctl(epoll_.fd, EPOLL_CTL_ADD, fd, &event) != 0) refuse("epoll_ctl");
  }

  int make_timer(TimerId id) {
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer < 0) refuse("timerfd_create");
    try {
      watch(timer, id);
    } catch (...) {
      close(timer);
      throw;
    }
    return timer;
  }

  [[noreturn]] void refuse(const char* call) const {
    const int error = errno;
    rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    throw BackendLimit(fmt::format(
        "{}: {}; each timer is a file, and this process may have {} (ulimit -n); choose "
        "fewer timers, or raise that limit",
        call, std::strerror(error), files.rlim_max));
  }

  const MayBeDue may_be_due_;
  const Descriptor epoll_{epoll_create1(EPOLL_CLOEXEC), "epoll_create1"};
  const Descriptor bell_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"};
  std::vector<int> timers_;  // by id
};

class Timerfds : public ServiceOver<TimerfdTimers> {
 public:
  static constexpr ServiceTraits traits{.name = "timerfds",
                                        .summary = "a timerfd for each timer, in one epoll",
                                        .precision = Precision::exact,
                                        .paper = "Linux timerfd_create(2)",
                                        .is_library = true,
                                        .own_clock = true};

  explicit Timerfds(const ServiceConfig& config) : ServiceOver(config) {}
};
static_assert(TimerService<Timerfds>);

}  // namespace timerbench
