// A toy library whose clock ends after 100 ticks, in the windows of core/far_store.h.
#pragma once

#include "core/far_store.h"
#include "sorted_list.h"

namespace timerbench {

class ListInAWindow {
 public:
  static constexpr Tick kLast = 99;

  explicit ListInAWindow(const QueueConfig&) {}

  void start(TimerId id, Tick at) { list_.schedule(id, at); }
  bool stop(TimerId id) { return list_.cancel(id); }

  template <class Sink>
  std::size_t run(Tick at, Sink&& sink) {
    const std::size_t fired = list_.advance(at, sink);
    if (at == kLast) list_ = SortedList({.capacity = 0});
    return fired;
  }

  Tick next() const { return list_.next_wakeup(); }
  std::size_t size() const { return list_.size(); }

 private:
  SortedList list_{{.capacity = 0}};
};

class ListInWindows : public WithFarStore<ListInAWindow> {
 public:
  static constexpr Traits traits{.name = "list_in_windows",
                                 .summary = "sorted list whose clock ends early",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "",
                                 .is_library = true};
  using WithFarStore::WithFarStore;
};
static_assert(TimerQueue<ListInWindows>);

}  // namespace timerbench
