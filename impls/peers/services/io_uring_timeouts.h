// The kernel's timers as requests: a timeout of io_uring for each timer.
//
// The service's thread submits IORING_OP_TIMEOUT for an id that is armed, in ns of CLOCK_MONOTONIC,
// and changes or removes the one that it has. Other threads leave a request (requests.h) and ring
// an eventfd that the ring reads: a completion interrupts the thread that submitted, so it must be
// this one. What is asked of a timeout that has just ended fails, and the completion that is on its
// way shows it.
//
// Cost:
//   schedule  two mutexes; an eventfd written, unless the loop is woken already; then, in the
//             service's thread, a request: O(log n) to add one, O(n) to change one, for the kernel
//             searches its list of timeouts
//   cancel    two mutexes; O(n) in the kernel when requests are carried out next
//   fire      an interrupt, a completion, a mutex, and the handler; one system call for all that
//             have ended
//   42 bytes a timer here; in the kernel a request with a timer, some 350 bytes
//
// Good: where io_uring runs anyway and timers are few, or never cancelled.
// Bad: to cancel or move among many.
// Follows: liburing, io_uring_prep_timeout() and its kin.
#pragma once

#include <fmt/format.h>
#include <liburing.h>
#include <sys/eventfd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/backend_error.h"
#include "core/descriptor.h"
#include "peers/services/kernel_instant.h"
#include "peers/services/requests.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

namespace timerbench {

class IoUringTimers {
 public:
  IoUringTimers(TimerId capacity, MayBeDue may_be_due)
      : may_be_due_(std::move(may_be_due)),
        requests_(capacity),
        is_submitted_(capacity),
        instants_(capacity) {
    const int error = -io_uring_queue_init(kEntries, &ring_, 0);
    if (error != 0) {
      throw BackendUnavailable(
          fmt::format("io_uring_queue_init: {}; see /proc/sys/kernel/io_uring_disabled, and what a "
                      "container forbids",
                      std::strerror(error)));
    }
  }

  IoUringTimers(const IoUringTimers&) = delete;
  IoUringTimers& operator=(const IoUringTimers&) = delete;
  ~IoUringTimers() { io_uring_queue_exit(&ring_); }

  void set(TimerId id, Tick deadline) {
    if (requests_.add(id, deadline)) eventfd_write(bell_.fd, 1);
  }

  void run() {
    listen();
    while (!is_ending_) {
      io_uring_submit_and_wait(&ring_, 1);
      std::array<io_uring_cqe*, 64> completions;
      const unsigned count =
          io_uring_peek_batch_cqe(&ring_, completions.data(), completions.size());
      for (unsigned i = 0; i < count && !is_ending_; ++i) complete(completions[i]->user_data);
      io_uring_cq_advance(&ring_, count);
    }
  }

  void end() {
    is_ending_ = true;
    eventfd_write(bell_.fd, 1);
  }

 private:
  static constexpr unsigned kEntries = 1024;  // of the queue of requests
  // What a completion is of, if not of the timeout of an id.
  static constexpr std::uint64_t kBell = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kFailedChange = kBell + 1;

  void complete(std::uint64_t what) {
    if (what == kBell) {
      listen();
      requests_.take([this](TimerId id, Tick deadline) { submit(id, deadline); });
    } else if (what != kFailedChange) {
      const auto id = static_cast<TimerId>(what);
      is_submitted_[id] = 0;
      may_be_due_(id);
    }
  }

  io_uring_sqe* new_request() {
    if (io_uring_sqe* const request = io_uring_get_sqe(&ring_)) return request;
    io_uring_submit(&ring_);
    return io_uring_get_sqe(&ring_);
  }

  void listen() {
    io_uring_sqe* const request = new_request();
    io_uring_prep_read(request, bell_.fd, &rings_, sizeof(rings_), 0);
    request->user_data = kBell;
  }

  void submit(TimerId id, Tick deadline) {
    const bool is_change = is_submitted_[id] != 0;
    if (!is_change && deadline == kNever) return;
    const timespec instant = kernel_instant(deadline);
    instants_[id] = {.tv_sec = instant.tv_sec, .tv_nsec = instant.tv_nsec};
    io_uring_sqe* const request = new_request();
    if (!is_change) {
      io_uring_prep_timeout(request, &instants_[id], 0, IORING_TIMEOUT_ABS);
      request->user_data = id;
      is_submitted_[id] = 1;
      return;
    }
    if (deadline == kNever) {
      io_uring_prep_timeout_remove(request, id, 0);
    } else {
      io_uring_prep_timeout_update(request, &instants_[id], id, IORING_TIMEOUT_ABS);
    }
    request->user_data = kFailedChange;
    request->flags |= unsigned{IOSQE_CQE_SKIP_SUCCESS};
  }

  const MayBeDue may_be_due_;
  Requests requests_;
  const Descriptor bell_{eventfd(0, EFD_CLOEXEC), "eventfd"};
  eventfd_t rings_ = 0;
  std::atomic<bool> is_ending_ = false;
  io_uring ring_;
  std::vector<std::uint8_t> is_submitted_;  // by id: the kernel has, or had, its timeout
  std::vector<__kernel_timespec>
      instants_;  // by id; the kernel reads it when requests are submitted
};

class IoUringTimeouts : public ServiceOver<IoUringTimers> {
 public:
  static constexpr ServiceTraits traits{
      .name = "io_uring_timeouts",
      .summary = "a timeout of io_uring for each timer",
      .precision = Precision::exact,
      .paper = "Linux io_uring_enter(2), liburing " TIMERBENCH_LIBURING_VERSION ", liburing-dev",
      .is_library = true,
      .own_clock = true};

  explicit IoUringTimeouts(const ServiceConfig& config) : ServiceOver(config) {}
};
static_assert(TimerService<IoUringTimeouts>);

}  // namespace timerbench
