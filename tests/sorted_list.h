// A toy backend from outside the tree: one list, sorted by deadline.
//
//   schedule O(n)   cancel O(n)   advance O(fired)   next_wakeup O(1)
#pragma once

#include <algorithm>
#include <list>

#include "core/timer_queue.h"

namespace timerbench {

class SortedList {
 public:
  static constexpr Traits traits{.name = "sorted_list",
                                 .summary = "one list, sorted by deadline",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = ""};

  explicit SortedList(const QueueConfig& config) : now_(config.start) {}

  void schedule(TimerId id, Tick deadline) {
    cancel(id);
    const auto later = std::ranges::find_if(
        timers_, [deadline](const Timer& timer) { return timer.deadline > deadline; });
    timers_.insert(later, {id, deadline});
  }

  bool cancel(TimerId id) {
    return std::erase_if(timers_, [id](const Timer& timer) { return timer.id == id; }) > 0;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    now_ = std::max(now_, now);
    std::size_t fired = 0;
    for (; now == now_ && next_wakeup() <= now; ++fired) {
      const Timer timer = timers_.front();
      timers_.pop_front();
      sink(timer.id, timer.deadline);
    }
    return fired;
  }

  Tick next_wakeup() const { return timers_.empty() ? kNever : timers_.front().deadline; }
  std::size_t size() const { return timers_.size(); }

 private:
  struct Timer {
    TimerId id;
    Tick deadline;
  };

  Tick now_;
  std::list<Timer> timers_;
};
static_assert(TimerQueue<SortedList>);

}  // namespace timerbench
