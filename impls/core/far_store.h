// A window of ticks for a library whose clock ends early, and a map of the timers outside of it.
//
// The library counts ticks from the begin of the window and holds the timers that are due in it. A
// timer that is due later, or that was due before the window when it was armed, waits in the map.
// Once the clock leaves the window, all timers of the library are due. So it is empty when the next
// window begins, and takes from the map those that are due in that one.
//
// Library has a constant kLast, the last tick of a window, and these functions:
//   start(id, at)   arms a timer, or moves it
//   stop(id)        returns whether it was armed
//   run(at, sink)   calls sink(id, its at) for what is due by this tick; returns how many. After
//                   run(kLast) its clock may be set back to any tick, for it is empty then.
//   next()          no later than when something is due, at least the last run(); kNever: empty
//   size()          armed timers
//
// Cost: that of the library, and a comparison; a look into a hash table for each schedule() and cancel()
// while any timer is in the map; for a timer in it O(log n) and two allocations.
#pragma once

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/timer_queue.h"

namespace timerbench {

template <class Library>
class WithFarStore {
 public:
  explicit WithFarStore(const QueueConfig& config)
      : now_(config.start), begin_(config.start), library_(config) {}

  void schedule(TimerId id, Tick deadline) {
    const bool is_near = deadline >= begin_ && deadline - begin_ <= Library::kLast;
    if (!far_.empty()) take_out(id);
    if (is_near) {
      library_.start(id, deadline - begin_);
    } else {
      library_.stop(id);
      deadlines_[id] = deadline;
      far_.emplace(deadline, id);
    }
  }

  bool cancel(TimerId id) { return library_.stop(id) || (!far_.empty() && take_out(id)); }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    const std::size_t before = size();
    const auto fire = [&](TimerId id, Tick at) { sink(id, begin_ + at); };
    if (!far_.empty() && far_.begin()->first < begin_) take_until(begin_ - 1, sink);
    while (now_ - begin_ > Library::kLast) {
      library_.run(Library::kLast, fire);
      begin_ = far_.empty() ? now_ : std::min(now_, far_.begin()->first);
      take_until(begin_ + std::min(Library::kLast, kNever - begin_),
                 [&](TimerId id, Tick deadline) { library_.start(id, deadline - begin_); });
    }
    library_.run(now_ - begin_, fire);
    return before - size();
  }

  Tick next_wakeup() const {
    if (size() == 0) return kNever;
    const Tick near = library_.size() == 0 ? kNever : begin_ + library_.next();
    const Tick far = far_.empty() ? kNever : far_.begin()->first;
    return std::max(now_, std::min(near, far));
  }

  std::size_t size() const { return library_.size() + far_.size(); }

 private:
  bool take_out(TimerId id) {
    const auto found = deadlines_.find(id);
    if (found == deadlines_.end()) return false;
    far_.erase({found->second, id});
    deadlines_.erase(found);
    return true;
  }

  // Takes out of the map what is due by then, in the order of deadlines.
  template <class Visit>
  void take_until(Tick last, Visit&& visit) {
    while (!far_.empty() && far_.begin()->first <= last) {
      const auto [deadline, id] = *far_.begin();
      take_out(id);
      visit(id, deadline);
    }
  }

  Tick now_;
  Tick begin_;  // of the window; not after now_, unless time has not begun
  Library library_;
  std::set<std::pair<Tick, TimerId>> far_;
  std::unordered_map<TimerId, Tick> deadlines_;  // of those in far_
};

}  // namespace timerbench
