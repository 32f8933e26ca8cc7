// The world of a generator: timers, which are armed both in the trace and in a model that knows
// when they fire, and an agenda of other events.
#pragma once

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "trace/model.h"
#include "workloads/trace_writer.h"

namespace timerbench {

class Simulation {
 public:
  Simulation(TraceWriter& trace, TimerId capacity) : trace_(trace), model_({.capacity = capacity}) {
    trace.set_capacity(capacity);
  }

  Tick now() const { return model_.now(); }
  bool pending(TimerId id) const { return model_.pending(id); }
  Tick next_due() const { return model_.next_wakeup(); }
  std::uint64_t peak_pending() const { return peak_; }

  // Arms a timer, or moves it.
  void arm(TimerId id, std::uint32_t delay) {
    model_.schedule(id, now() + delay);
    peak_ = std::max<std::uint64_t>(peak_, model_.size());
    trace_.schedule(id, delay);
  }

  void cancel(TimerId id) {
    model_.cancel(id);
    trace_.cancel(id);
  }

  // As cancel(), but writes nothing for a timer that is not pending, like a program that checks
  // first.
  void cancel_if_pending(TimerId id) {
    if (pending(id)) cancel(id);
  }

  // One step of the clock; then fired(id) for each timer that fired, which may arm it again.
  template <class Fired>
  void step_to(Tick instant, Fired&& fired) {
    trace_.pass_time(instant - now());
    fired_.clear();
    model_.advance(instant, [&](TimerId id, Tick) { fired_.push_back(id); });
    for (const TimerId id : fired_) fired(id);
  }

  // The same, with a step to each instant at which something is due, like an event loop.
  template <class Fired>
  void pass_time_to(Tick instant, Fired&& fired) {
    while (now() < instant) step_to(std::min(instant, model_.next_wakeup()), fired);
  }

  // Puts the event `what` on the agenda. REQUIRES: `at` is not before now().
  void expect(Tick instant, std::uint32_t what) { agenda_.emplace(instant, what); }

  // Goes to the next instant at which a timer is due or something is on the agenda: fired(id), then
  // happens(what), for each. REQUIRES: there is one.
  template <class Fired, class Happens>
  void go_on(Fired&& fired, Happens&& happens) {
    const Tick planned = agenda_.empty() ? kNever : agenda_.top().first;
    const Tick next = std::min(planned, model_.next_wakeup());
    if (next > now()) step_to(next, fired);
    while (!agenda_.empty() && agenda_.top().first <= now()) {
      const std::uint32_t what = agenda_.top().second;
      agenda_.pop();
      happens(what);
    }
  }

 private:
  using Event = std::pair<Tick, std::uint32_t>;

  TraceWriter& trace_;
  Model model_;
  std::uint64_t peak_ = 0;
  std::vector<TimerId> fired_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> agenda_;
};

}  // namespace timerbench
