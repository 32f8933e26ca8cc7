// libuv's loop on a thread of its own: uv_timer_t, armed from other threads by uv_async_send().
//
// The whole library runs as it is, with its own clock: milliseconds, read once an iteration. Only
// the loop's thread may touch its timers, so other threads leave a request (requests.h) and ring;
// libuv makes many rings one. A deadline is rounded up to the loop's millisecond, so nothing is
// early.
//
// Cost:
//   schedule  two mutexes; an eventfd written, unless the loop is woken already; then, in the
//             loop's thread, uv_timer_stop() and uv_timer_start(): O(log n) lines of other handles
//   cancel    two mutexes; uv_timer_stop() when the loop runs next
//   fire      uv_timer_stop(), a mutex, and the handler
//   177 bytes a timer: a handle of 152, the deadline twice, and a flag
//
// Good: where libuv runs anyway, and a millisecond late is fine.
// Bad: each arming from another thread is work for two, and the loop's part is the larger one.
// Follows: libuv 1.44, uv_async_send() and uv_timer_start().
// Deviates: granules are of 1 ms, whatever the configuration says.
#pragma once

#include <uv.h>

#include <atomic>
#include <utility>
#include <vector>

#include "core/backend_error.h"
#include "peers/services/requests.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

#define UV_TEXT(number) #number
#define UV_VERSION_OF(major, minor, patch) UV_TEXT(major) "." UV_TEXT(minor) "." UV_TEXT(patch)
#define UV_VERSION_TEXT UV_VERSION_OF(UV_VERSION_MAJOR, UV_VERSION_MINOR, UV_VERSION_PATCH)

namespace timerbench {

class LibuvTimers {
 public:
  LibuvTimers(TimerId capacity, MayBeDue may_be_due)
      : may_be_due_(std::move(may_be_due)), requests_(capacity), timers_(capacity) {
    require(uv_loop_init(&loop_));
    loop_.data = this;
    require(uv_async_init(&loop_, &bell_, take_requests));
    for (uv_timer_t& timer : timers_) uv_timer_init(&loop_, &timer);
  }

  LibuvTimers(const LibuvTimers&) = delete;
  LibuvTimers& operator=(const LibuvTimers&) = delete;

  ~LibuvTimers() {
    for (uv_timer_t& timer : timers_) uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&bell_), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    uv_loop_close(&loop_);
  }

  void set(TimerId id, Tick deadline) {
    if (requests_.add(id, deadline)) uv_async_send(&bell_);
  }

  void run() { uv_run(&loop_, UV_RUN_DEFAULT); }

  void end() {
    is_ending_ = true;
    uv_async_send(&bell_);
  }

 private:
  static void require(int error) {
    if (error != 0) throw BackendUnavailable(std::string("libuv: ") + uv_strerror(error));
  }

  static void take_requests(uv_async_t* bell) {
    auto* const timers = static_cast<LibuvTimers*>(bell->loop->data);
    if (timers->is_ending_) return uv_stop(bell->loop);
    timers->requests_.take([timers](TimerId id, Tick deadline) { timers->start(id, deadline); });
  }

  void start(TimerId id, Tick deadline) {
    if (deadline == kNever) {
      uv_timer_stop(&timers_[id]);
      return;
    }
    const Tick due = deadline / kMillisecond + (deadline % kMillisecond > 0);
    const Tick now = uv_now(&loop_);
    uv_timer_start(&timers_[id], tell, due > now ? due - now : 0, 0);
  }

  // The callback of all timers.
  static void tell(uv_timer_t* timer) {
    auto* const timers = static_cast<LibuvTimers*>(timer->loop->data);
    timers->may_be_due_(static_cast<TimerId>(timer - timers->timers_.data()));
  }

  const MayBeDue may_be_due_;
  Requests requests_;
  std::atomic<bool> is_ending_ = false;
  uv_loop_t loop_;
  uv_async_t bell_;
  std::vector<uv_timer_t> timers_;
};

class LibuvLoop : public ServiceOver<LibuvTimers> {
 public:
  static constexpr ServiceTraits traits{.name = "libuv_loop",
                                        .summary = "libuv's loop, woken by uv_async_send()",
                                        .precision = Precision::granular,
                                        .paper = "libuv " UV_VERSION_TEXT ", libuv1-dev",
                                        .is_library = true,
                                        .own_clock = true};

  explicit LibuvLoop(const ServiceConfig& config) : ServiceOver(config) {}
};
static_assert(TimerService<LibuvLoop>);

}  // namespace timerbench
