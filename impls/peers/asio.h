// Asio's timer queue: an implicit binary heap of {time, pointer}, and a list of all timers.
//
// The library's detail::timer_queue runs, which each basic_waitable_timer of a service is kept in,
// with a clock of virtual time. It is driven as its reactor does: what is due is moved to a queue
// of operations, one for each timer, which the reactor would complete. A tick is the unit of that
// clock, a number of 64 bits, so no deadline is too far; the next timer is told to 2^63 - 1 ticks
// ahead.
//
// Invariants:
//   1. A pending timer is in the heap under its deadline, and its operation waits on it.
//
// Cost:
//   schedule O(log n): the timer's two lines, those of the timer that was armed before it, and two a
//     level that it rises: the entry, and the timer that must know its place
//   cancel O(log n): the same, and both neighbours in the list
//   advance O(fired log n)
//   next_wakeup O(1)
//   104 bytes a timer: its data, its operation, an entry, and the deadline; the heap's array doubles
//
// Good: where Asio runs anyway.
// Bad: for many: an entry that moves writes its place into its timer, a line of its own.
// Follows: Boost.Asio 1.18, detail/timer_queue.hpp.
// Deviates: an operation is kept for each timer, where Asio allocates one for each wait; it does not
//   go through the reactor's mutex and the executor.
#pragma once

#include <algorithm>
#include <boost/asio/detail/op_queue.hpp>
#include <boost/asio/detail/timer_queue.hpp>
#include <boost/asio/detail/wait_op.hpp>
#include <boost/asio/version.hpp>
#include <boost/version.hpp>
#include <cassert>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

// Virtual time, in the words of Asio's traits of a clock.
struct AsioTime {
  using time_type = Tick;
  using duration_type = std::int64_t;

  struct Duration {
    std::int64_t count;

    std::int64_t ticks() const { return count; }
    std::int64_t total_milliseconds() const { return count; }
    std::int64_t total_microseconds() const { return count; }
  };

  static inline thread_local Tick clock = 0;

  static Tick now() { return clock; }
  static bool less_than(Tick a, Tick b) { return a < b; }
  static Duration to_posix_duration(std::int64_t ticks) { return {ticks}; }

  // a - b, or the nearest that there is.
  static std::int64_t subtract(Tick a, Tick b) {
    constexpr Tick kMost = std::numeric_limits<std::int64_t>::max();
    return a < b ? 0 : static_cast<std::int64_t>(std::min(a - b, kMost));
  }
};

class Asio {
  static_assert(BOOST_ASIO_VERSION / 100 == 1018,
                "asio.h was written for Boost.Asio 1.18; see whether detail::timer_queue still has "
                "enqueue_timer(), cancel_timer() and get_ready_timers()");

 public:
  static constexpr Traits traits{
      .name = "asio",
      .summary = "Asio's timer queue: an implicit heap of pointers",
      .precision = Precision::exact,
      .ordered = true,
      .paper = "Boost.Asio 1.18 of Boost " BOOST_LIB_VERSION ", libboost-dev",
      .is_library = true};

  explicit Asio(const QueueConfig& config)
      : now_(config.start), operations_(config.capacity), timers_(config.capacity) {}

  void schedule(TimerId id, Tick deadline) {
    cancel(id);
    operations_[id].deadline = deadline;
    queue_.enqueue_timer(deadline, timers_[id], &operations_[id]);
    ++size_;
  }

  bool cancel(TimerId id) {
    assert(id < timers_.size());
    Operations cancelled;
    const bool was_pending = queue_.cancel_timer(timers_[id], cancelled) > 0;
    cancelled.pop();
    size_ -= was_pending;
    return was_pending;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    AsioTime::clock = now;
    Operations ready;
    queue_.get_ready_timers(ready);
    std::size_t fired = 0;
    for (; !ready.empty(); ++fired) {
      const auto* const operation = static_cast<const Operation*>(ready.front());
      ready.pop();
      sink(static_cast<TimerId>(operation - operations_.data()), operation->deadline);
    }
    size_ -= fired;
    return fired;
  }

  Tick next_wakeup() const {
    if (size_ == 0) return kNever;
    AsioTime::clock = now_;
    return now_ + static_cast<Tick>(queue_.wait_duration_usec(std::numeric_limits<long>::max()));
  }

  std::size_t size() const { return size_; }

 private:
  using Queue = boost::asio::detail::timer_queue<AsioTime>;
  using Operations = boost::asio::detail::op_queue<boost::asio::detail::operation>;

  // What waits on a timer. It is never completed.
  struct Operation : boost::asio::detail::wait_op {
    Operation() : wait_op(complete) {}

    static void complete(void*, boost::asio::detail::operation*, const boost::system::error_code&,
                         std::size_t) {}

    Tick deadline = 0;
  };

  Tick now_;
  std::size_t size_ = 0;
  Queue queue_;
  std::vector<Operation> operations_;
  std::vector<Queue::per_timer_data> timers_;  // which destroy what waits on them
};
static_assert(TimerQueue<Asio>);

}  // namespace timerbench
