// The least that any backend can do: write the deadline where the timer's owner keeps it.
//
//   schedule, cancel: one store to one line      advance: nothing      8 bytes a timer
//
// The floor that a lazy structure may approach. It fires nothing: a control, never ranked.
#pragma once

#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

class OneStore {
 public:
  static constexpr Traits traits{.name = "one_store",
                                 .summary = "only writes the deadline into an array",
                                 .precision = Precision::none,
                                 .ordered = false,
                                 .paper = ""};

  explicit OneStore(const QueueConfig& config) : deadlines_(config.capacity, kNever) {}

  void schedule(TimerId id, Tick deadline) { store(id, deadline); }

  bool cancel(TimerId id) {
    store(id, kNever);
    return false;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&&) {
    asm volatile("" : : "r"(now));
    return 0;
  }

  Tick next_wakeup() const { return kNever; }
  std::size_t size() const { return 0; }

 private:
  void store(TimerId id, Tick deadline) {
    deadlines_[id] = deadline;
    asm volatile("" : : : "memory");  // nobody reads it back; keep the store
  }

  std::vector<Tick> deadlines_;
};
static_assert(TimerQueue<OneStore>);

}  // namespace timerbench
