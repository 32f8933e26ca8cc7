// Asio's io_context on one thread, or on four: steady_timer, armed from other threads by post().
//
// The whole library runs as it is, with std::chrono::steady_clock, whose ticks are ns, and a
// timerfd, which it sets in whole us. A timer object may be used by one thread at a time, so other
// threads leave a request (requests.h) and post() to a strand, which carries out all requests. The
// completions of waits run on any thread of the io_context. A wait that is cancelled or moved
// completes too, with an error that is ignored.
//
// Cost:
//   schedule  two mutexes; a post to the strand, unless one is on its way; then, in a thread of the
//             io_context, cancel() with its completion, and async_wait(): O(log n) lines
//   cancel    two mutexes; cancel() when requests are carried out next
//   fire      O(log n), the reactor's lock, a mutex, and the handler
//   153 bytes a timer: a steady_timer of 112, an entry of 16, the deadline twice, and a flag; and an
//   allocation for each wait
//
// Good: where Asio runs anyway; with threads, for handlers that take long.
// Bad: each arming from another thread is work for two; all threads share the reactor's lock.
// Follows: Boost.Asio 1.18, steady_timer and strand.
#pragma once

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/version.hpp>
#include <boost/version.hpp>
#include <chrono>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "core/joined_name.h"
#include "peers/services/requests.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

namespace timerbench {

class AsioLoopTimers {
  static_assert(BOOST_ASIO_VERSION / 100 == 1018,
                "asio_loop.h tells that it is of Boost.Asio 1.18");

 public:
  AsioLoopTimers(TimerId capacity, MayBeDue may_be_due)
      : may_be_due_(std::move(may_be_due)), requests_(capacity) {
    timers_.reserve(capacity);
    for (TimerId id = 0; id < capacity; ++id) timers_.emplace_back(context_);
  }

  void set(TimerId id, Tick deadline) {
    if (!requests_.add(id, deadline)) return;
    boost::asio::post(strand_, [this] {
      requests_.take([this](TimerId id, Tick deadline) { start(id, deadline); });
    });
  }

  void run() { context_.run(); }
  void end() { context_.stop(); }

 private:
  using Instant = boost::asio::steady_timer::time_point;

  // REQUIRES: on the strand.
  void start(TimerId id, Tick deadline) {
    if (deadline == kNever) {
      timers_[id].cancel();
      return;
    }
    constexpr Tick kEndOfClock = std::numeric_limits<std::int64_t>::max();
    timers_[id].expires_at(Instant(std::chrono::nanoseconds(std::min(deadline, kEndOfClock))));
    timers_[id].async_wait([this, id](const boost::system::error_code& error) {
      if (!error) may_be_due_(id);
    });
  }

  const MayBeDue may_be_due_;
  Requests requests_;
  boost::asio::io_context context_;
  boost::asio::strand<boost::asio::io_context::executor_type> strand_{context_.get_executor()};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stays_{
      context_.get_executor()};
  std::vector<boost::asio::steady_timer> timers_;
};

template <std::size_t kThreads>
class AsioLoop : public ServiceOver<AsioLoopTimers> {
 public:
  static constexpr ServiceTraits traits{
      .name = kSettingName<"asio_loop", kThreads>,
      .summary = "Asio's io_context with so many threads, woken by post() to a strand",
      .precision = Precision::exact,
      .paper = "Boost.Asio 1.18 of Boost " BOOST_LIB_VERSION ", libboost-dev",
      .threads = kThreads,
      .is_library = true,
      .own_clock = true};

  explicit AsioLoop(const ServiceConfig& config)
      : ServiceOver(config, handler_threads(config, traits)) {}
};
static_assert(TimerService<AsioLoop<1>>);

}  // namespace timerbench
