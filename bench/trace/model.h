// The model defines what a trace means: an ordered set of (deadline, id), the simplest correct
// timer queue. It is the reference of every check and the simulator of the generators, never a
// contender.
//
//   schedule O(log n)   cancel, advance O(fired)   next_wakeup O(1), exact
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

class Model {
 public:
  static constexpr Traits traits{.name = "model",
                                 .summary = "ordered set of (deadline, id)",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = ""};

  explicit Model(const QueueConfig& config)
      : now_(config.start), places_(config.capacity, pending_.end()) {}
  Model(const Model&) = delete;  // the end is that of this set
  Model& operator=(const Model&) = delete;

  void schedule(TimerId id, Tick deadline) {
    cancel(id);
    places_[id] = pending_.emplace(deadline, id).first;
  }

  bool cancel(TimerId id) {
    if (!pending(id)) return false;
    pending_.erase(places_[id]);
    places_[id] = pending_.end();
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    std::size_t fired = 0;
    for (; !pending_.empty() && pending_.begin()->first <= now; ++fired) {
      const auto [deadline, id] = *pending_.begin();
      cancel(id);
      sink(id, deadline);
    }
    return fired;
  }

  Tick next_wakeup() const { return pending_.empty() ? kNever : pending_.begin()->first; }
  std::size_t size() const { return pending_.size(); }

  Tick now() const { return now_; }
  bool pending(TimerId id) const { return places_[id] != pending_.end(); }
  Tick deadline(TimerId id) const { return pending(id) ? places_[id]->first : kNever; }
  // The id of the timer that fires next. REQUIRES: size() > 0.
  TimerId next_id() const { return pending_.begin()->second; }

 private:
  using Pending = std::set<std::pair<Tick, TimerId>>;

  Tick now_;
  Pending pending_;
  std::vector<Pending::iterator> places_;  // by id; the end: not pending
};
static_assert(TimerQueue<Model>);

}  // namespace timerbench
