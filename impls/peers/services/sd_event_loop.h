// systemd's loop on a thread of its own: sd_event time sources, armed from other threads through an
// eventfd.
//
// The whole library runs as it is, with its own clock: microseconds, read once an iteration. Only
// the loop's thread may touch its sources, so other threads leave a request (requests.h) and write
// to an eventfd that the loop watches. A deadline is rounded up to a microsecond. The accuracy is 1
// us, the finest; by default the library may fire a source 250 ms later, to wake for several at
// once. An id has its source made when it is first armed, and keeps it.
//
// Cost:
//   schedule  two mutexes; an eventfd written, unless the loop is woken already; then, in the
//             loop's thread, two places in two heaps, for the earliest and the latest instant, moved:
//             O(log n) lines of other sources
//   cancel    two mutexes; the same two places when the loop runs next
//   fire      one source an iteration: epoll_wait(), timerfd_settime(), the two places, a mutex, and
//             the handler
//   some 250 bytes a timer: the source, its places, the deadline twice, and a flag
//
// Good: in daemons that run sd-event anyway; late by the kernel's part alone.
// Bad: for many: it asks the kernel again for each timer that fires.
// Follows: systemd's sd-event, sd_event_add_time(3).
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/backend_error.h"
#include "core/descriptor.h"
#include "peers/services/requests.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

namespace timerbench {

class SdEventTimers {
 public:
  SdEventTimers(TimerId capacity, MayBeDue may_be_due)
      : may_be_due_(std::move(may_be_due)), requests_(capacity), timers_(capacity) {
    sd_event* made;
    require(sd_event_new(&made));
    loop_.reset(made);
    require(sd_event_add_io(made, nullptr, bell_.fd, EPOLLIN, take_requests, this));
    // The first timer opens the timerfd. If that fails, the loop's thread could tell nobody.
    sd_event_source* first;
    require(sd_event_add_time(made, &first, CLOCK_MONOTONIC, kEnd / kMicrosecond, kAccuracy, tell,
                              nullptr));
    sd_event_source_unref(first);
  }

  SdEventTimers(const SdEventTimers&) = delete;
  SdEventTimers& operator=(const SdEventTimers&) = delete;

  ~SdEventTimers() {
    for (const Timer& timer : timers_) sd_event_source_unref(timer.source);
  }

  void set(TimerId id, Tick deadline) {
    if (requests_.add(id, deadline)) eventfd_write(bell_.fd, 1);
  }

  void run() { sd_event_loop(loop_.get()); }

  void end() {
    is_ending_ = true;
    eventfd_write(bell_.fd, 1);
  }

 private:
  static constexpr Tick kMicrosecond = 1'000;
  static constexpr std::uint64_t kAccuracy = 1;  // 0 would be 250 ms
  // Its clock has an end, 292 years after the machine's start.
  static constexpr Tick kEnd = std::numeric_limits<std::int64_t>::max();

  struct Unref {
    void operator()(sd_event* loop) const { sd_event_unref(loop); }
  };

  struct Timer {
    sd_event_source* source = nullptr;
    SdEventTimers* timers = nullptr;
  };

  static void require(int result) {
    if (result < 0) throw BackendUnavailable(std::string("sd-event: ") + std::strerror(-result));
  }

  static int take_requests(sd_event_source*, int bell, std::uint32_t, void* pointer) {
    auto* const timers = static_cast<SdEventTimers*>(pointer);
    eventfd_t rings;
    eventfd_read(bell, &rings);
    if (timers->is_ending_) return sd_event_exit(timers->loop_.get(), 0);
    timers->requests_.take([timers](TimerId id, Tick deadline) { timers->start(id, deadline); });
    return 0;
  }

  void start(TimerId id, Tick deadline) {
    auto& [source, timers] = timers_[id];
    if (deadline == kNever) {
      if (source != nullptr) sd_event_source_set_enabled(source, SD_EVENT_OFF);
      return;
    }
    const Tick due = (std::min(deadline, kEnd) + kMicrosecond - 1) / kMicrosecond;
    if (source == nullptr) {
      timers = this;
      require(sd_event_add_time(loop_.get(), &source, CLOCK_MONOTONIC, due, kAccuracy, tell,
                                &timers_[id]));
    } else {
      sd_event_source_set_time(source, due);
      sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    }
  }

  // The callback of all timers.
  static int tell(sd_event_source*, std::uint64_t, void* pointer) {
    const auto* const timer = static_cast<Timer*>(pointer);
    timer->timers->may_be_due_(static_cast<TimerId>(timer - timer->timers->timers_.data()));
    return 0;
  }

  const MayBeDue may_be_due_;
  Requests requests_;
  std::atomic<bool> is_ending_ = false;
  const Descriptor bell_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"};
  std::unique_ptr<sd_event, Unref> loop_;
  std::vector<Timer> timers_;  // by id
};

class SdEventLoop : public ServiceOver<SdEventTimers> {
 public:
  static constexpr ServiceTraits traits{
      .name = "sd_event_loop",
      .summary = "systemd's sd-event, woken by an eventfd",
      .precision = Precision::exact,
      .paper = "sd-event of systemd " TIMERBENCH_SYSTEMD_VERSION ", libsystemd-dev",
      .is_library = true,
      .own_clock = true};

  explicit SdEventLoop(const ServiceConfig& config) : ServiceOver(config) {}
};
static_assert(TimerService<SdEventLoop>);

}  // namespace timerbench
