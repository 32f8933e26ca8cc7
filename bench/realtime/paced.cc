#include "realtime/paced.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "core/granularity.h"
#include "realtime/lateness.h"
#include "realtime/pace.h"
#include "realtime/stoppable_wait.h"
#include "realtime/watched_clock.h"
#include "system/cpu_time.h"
#include "trace/model.h"

namespace timerbench {
namespace {

constexpr double kSecond = 1e9;  // ns

// Handlers on any thread write it, while the generator reads it.
class FireLog {
 public:
  explicit FireLog(std::size_t room) : fires_(room) {}

  void add(const Fire& fire) {
    const std::size_t i = size_.fetch_add(1, std::memory_order_relaxed);
    if (i >= fires_.size()) return;
    fires_[i].deadline = fire.deadline;
    fires_[i].id = fire.id;
    fires_[i].alarm = fire.alarm;
    std::atomic_ref(fires_[i].at).store(fire.at, std::memory_order_release);
  }

  // Returns each fire once; nullptr if the next one is not there yet. For one thread.
  const Fire* next() {
    if (read_ == fires_.size()) return nullptr;
    if (std::atomic_ref(fires_[read_].at).load(std::memory_order_acquire) == 0) return nullptr;
    return &fires_[read_++];
  }

  // REQUIRES: no handler runs any more.
  std::vector<Fire> take() {
    fires_.resize(std::min(size_.load(), fires_.size()));
    return std::move(fires_);
  }

 private:
  std::vector<Fire> fires_;  // `at` is 0 until the rest is written
  std::atomic<std::size_t> size_ = 0;
  std::size_t read_ = 0;
};

class PacedRun {
 public:
  PacedRun(const PacedOptions& options, const PacedPlan& plan, const ServiceBackend& backend,
           const StopFlag& stop)
      : options_(options),
        plan_(plan),
        precision_(backend.traits.precision),
        stop_(stop),
        steady_(options.waiting),
        clock_(steady_),
        fires_(plan.before().size() + plan.schedules() + kRoomForFaults),
        ids_(plan.capacity(), kNone),
        timers_(plan.capacity() + late_timers(plan)) {
    armings_.reserve(plan.before().size() + plan.schedules());
    calls_.reserve(plan.ops().size());
    for (std::size_t id = timers_.size(); id > 0; --id) {
      free_.push_back(static_cast<TimerId>(id - 1));
    }
    service_ = backend.make({.capacity = static_cast<TimerId>(timers_.size()),
                             .clock = clock_,
                             .handler = [this](TimerId id, Tick deadline) { fire(id, deadline); },
                             .granularity = options.granularity,
                             .threads = options.threads});
  }

  // Arms the timers that the setup leaves pending. The run begins after `lead`. Returns whether
  // that was long enough.
  bool arm_before(Tick lead) {
    const Tick begin = now_ = clock_.now();
    start_ = now_ + lead;
    end_ = start_ + plan_.end();
    over_ = end_ + static_cast<Tick>(options_.grace * kSecond);
    for (const PendingTimer& timer : plan_.before()) {
      if (stop_) break;
      schedule(timer.id, now_, start_ + timer.deadline);
      now_ = clock_.now();
      if (now_ > start_) return false;
    }
    if (!armings_.empty()) {
      figures_.arming = static_cast<double>(now_ - begin) / static_cast<double>(armings_.size());
    }
    return true;
  }

  void play() {
    await(start_);
    begin_ = now_;
    cpu_before_ = cpu_seconds();
    wakeups_before_ = service_->wakeups();

    Tick ticks = 0;
    Tick planned = start_;
    auto op = plan_.ops().begin();
    const auto pass_time = [&] {
      ticks += op->arg;
      planned = start_ + plan_.instant(ticks);
    };
    for (; op != plan_.ops().end(); ++op) {
      if (op->id == kAdvance) {
        pass_time();
        continue;
      }
      if (!await(planned)) break;
      figures_.generator.add(static_cast<double>(now_ - planned));
      calls_.add(planned, now_ - planned);
      collect_fires();
      if (op->arg == kCancel) {
        cancel(op->id, planned);
      } else if (!schedule(op->id, planned, start_ + plan_.instant(ticks + op->arg))) {
        break;
      }
    }
    await(end_);
    if (stop_) end_ = std::clamp(now_, start_, end_);

    for (; op != plan_.ops().end() && planned <= end_; ++op) {
      if (op->id == kAdvance) {
        pass_time();
      } else if (op->arg != kCancel) {
        calls_.add_undone();
      }
    }
  }

  // Waits until all timers due in the window have fired, or the grace period is over.
  void drain() {
    for (; !stop_ && now_ < over_; now_ = clock_.now()) {
      collect_fires();
      if (due_ == 0) break;
      alarm_->wait_until(now_ + kGlance);
    }
    const Tick elapsed = now_ - begin_;
    figures_.elapsed = static_cast<double>(elapsed) / kSecond;
    figures_.cpu_seconds = cpu_seconds() - cpu_before_;
    figures_.wakeups_per_second = per_second(service_->wakeups() - wakeups_before_, elapsed);
  }

  PacedFigures figures() {
    figures_.interrupted = stop_;
    std::vector<PendingTimer> pending = service_->stop();
    service_.reset();
    std::vector<Fire> fires = fires_.take();

    std::uint64_t offered = calls_.undone();
    Pace expiries;
    Fire first{.deadline = 0, .at = kNever, .id = kNone, .alarm = 0};
    Fire last{.deadline = 0, .at = 0, .id = kNone, .alarm = 0};
    Fire first_early = first;
    const auto count = [&](const Arming& arming, const Fire* fire) {
      const bool due = in_window(arming.deadline);
      if (fire && fire->at < arming.deadline) {
        ++figures_.early;
        if (fire->at < first_early.at) first_early = *fire;
      }
      if (fire && due) {
        add_lateness(arming, *fire);
        expiries.add(arming.deadline, fire->at - std::min(fire->at, arming.deadline));
        if (fire->at < first.at) first = *fire;
        if (fire->at > last.at) last = *fire;
      }
      const bool had_its_time = due && !figures_.interrupted;
      if (had_its_time && !fire && arming.ending == Ending::fire_or_pending) expiries.add_undone();
      offered += arming.made >= start_;
    };
    figures_.accounts = settle_accounts(armings_, fires, pending, count);

    figures_.seconds = static_cast<double>(end_ - start_) / kSecond;
    figures_.offered = per_second(offered, end_ - start_);
    figures_.achieved = figures_.offered * std::min(calls_.achieved(), expiries.achieved());
    if (first.id != kNone) {
      figures_.first_lateness = static_cast<double>(first.at) - static_cast<double>(first.deadline);
      figures_.last_lateness = static_cast<double>(last.at) - static_cast<double>(last.deadline);
    }
    if (!figures_.accounts.violation.empty()) {
      figures_.failure = "wrong: " + figures_.accounts.violation;
    } else if (figures_.early > 0 && precision_ != Precision::early &&
               precision_ != Precision::none) {
      figures_.failure = fmt::format("wrong: {} timers fired early, the first by {} ns",
                                     figures_.early, first_early.deadline - first_early.at);
    }
    return std::move(figures_);
  }

 private:
  static constexpr TimerId kNone = ~TimerId{0};
  static constexpr std::size_t kFree = ~std::size_t{0};
  static constexpr std::size_t kRoomForFaults = 1024;
  static constexpr Tick kGlance = 1'000'000;

  // A timer of the service.
  struct Timer {
    std::size_t arming = kFree;  // the last one, unless it is known to have ended
    TimerId object = kNone;      // the id in the trace
  };

  // The number of spare ids: as many timers may be late as fire in a second.
  static std::size_t late_timers(const PacedPlan& plan) {
    const double seconds = std::max(1.0, static_cast<double>(plan.end()) / kSecond);
    return 16 + static_cast<std::size_t>(static_cast<double>(plan.fires().size()) / seconds);
  }

  static double per_second(std::uint64_t count, Tick time) {
    return time == 0 ? 0 : static_cast<double>(count) / (static_cast<double>(time) / kSecond);
  }

  // The handler, called by threads of the service.
  void fire(TimerId id, Tick deadline) {
    const Tick now = steady_.now();
    fires_.add({deadline, now, id, WatchedClock::alarm_of_this_thread()});
    while (steady_.now() < now + options_.task_cost) {  // works
    }
  }

  // Returns whether there is time left.
  bool await(Tick planned) {
    wait_until(clock_, *alarm_, planned, stop_);
    now_ = clock_.now();
    return !stop_ && now_ < over_;
  }

  bool in_window(Tick deadline) const { return deadline <= end_; }

  Tick due_instant(Tick deadline) const {
    if (precision_ != Precision::granular) return deadline;
    const Granularity granularity(options_.granularity);
    return granularity.instant(granularity.ceil(deadline));
  }

  void collect_fires() {
    while (const Fire* fire = fires_.next()) {
      if (fire->id >= timers_.size()) continue;
      const Timer& timer = timers_[fire->id];
      if (timer.arming != kFree && armings_[timer.arming].deadline == fire->deadline) {
        release(fire->id);
      }
    }
  }

  void release(TimerId id) {
    Timer& timer = timers_[id];
    if (ids_[timer.object] == id) ids_[timer.object] = kNone;
    due_ -= in_window(armings_[timer.arming].deadline);
    timer.arming = kFree;
    free_.push_back(id);
  }

  // The arming of the object's timer; nullptr if there is none or if it has fired by plan.
  Arming* pending_arming(TimerId object, Tick planned) {
    if (ids_[object] == kNone) return nullptr;
    Arming& arming = armings_[timers_[ids_[object]].arming];
    return arming.deadline > planned ? &arming : nullptr;
  }

  // Returns whether an id was free in time.
  bool schedule(TimerId object, Tick planned, Tick deadline) {
    if (Arming* moved = pending_arming(object, planned)) {
      moved->ending = Ending::fire_or_move;
      due_ -= in_window(moved->deadline);
    } else {
      while (free_.empty()) {
        if (!await(now_ + kGlance)) return false;
        collect_fires();
      }
      ids_[object] = free_.back();
      free_.pop_back();
    }
    const TimerId id = ids_[object];
    timers_[id] = {armings_.size(), object};
    armings_.push_back({.deadline = deadline, .made = now_, .id = id});
    due_ += in_window(deadline);
    service_->schedule(id, deadline);
    return true;
  }

  void cancel(TimerId object, Tick planned) {
    Arming* arming = pending_arming(object, planned);
    if (!arming) return;
    const TimerId id = std::exchange(ids_[object], kNone);
    if (service_->cancel(id)) {
      arming->ending = Ending::cancel;
      release(id);
    } else {
      arming->ending = Ending::fire;
    }
  }

  void add_lateness(const Arming& arming, const Fire& fire) {
    const Expiry expiry{.deadline = arming.deadline,
                        .due = due_instant(arming.deadline),
                        .armed = arming.made,
                        .fired = std::max(fire.at, arming.deadline),
                        .alarm = fire.alarm};
    const Lateness lateness = split_lateness(expiry, waits_behind(expiry, clock_.waits()));
    figures_.lateness.add(static_cast<double>(lateness.sum()));
    figures_.rounding.add(static_cast<double>(lateness.rounding));
    figures_.wakeup.add(static_cast<double>(lateness.wakeup));
    figures_.processing.add(static_cast<double>(lateness.processing));
  }

  const PacedOptions& options_;
  const PacedPlan& plan_;
  const Precision precision_;
  const StopFlag& stop_;
  SteadyClock steady_;
  WatchedClock clock_;
  FireLog fires_;

  const std::unique_ptr<Alarm> alarm_ = make_punctual_alarm();  // of the generator
  Tick now_ = 0;                                                // at its last clock read
  Tick start_ = 0;
  Tick end_ = 0;    // of the window
  Tick over_ = 0;   // of the grace period
  Tick begin_ = 0;  // of the time whose cost is measured
  double cpu_before_ = 0;
  std::uint64_t wakeups_before_ = 0;
  std::vector<Arming> armings_;
  std::vector<TimerId> ids_;   // service ids, by trace id
  std::vector<Timer> timers_;  // by service id
  std::vector<TimerId> free_;
  std::size_t due_ = 0;  // timers due in the window that have not ended
  Pace calls_;           // to the service; undone: armings
  PacedFigures figures_;

  std::unique_ptr<AnyService> service_;  // last: its threads use the others
};

}  // namespace

PacedPlan::PacedPlan(Trace trace, double seconds) : trace_(std::move(trace)) {
  const TraceInfo& info = trace_.info();
  Model model({.capacity = info.capacity});
  Tick now = 0;
  Tick start = 0;
  const auto replay = [&](Op op, auto&& sink) {
    if (op.id == kAdvance) {
      model.advance(now += op.arg, sink);
    } else if (op.arg == kCancel) {
      model.cancel(op.id);
    } else {
      model.schedule(op.id, now + op.arg);
    }
  };
  for (const Op op : trace_.setup()) replay(op, IgnoreExpiry{});
  start = now;
  for (TimerId id = 0; id < info.capacity; ++id) {
    if (model.pending(id)) before_.push_back({id, instant(model.deadline(id) - start)});
  }
  std::ranges::stable_sort(before_, {}, &PendingTimer::deadline);

  const Tick last =
      seconds > 0 ? start + static_cast<Tick>(seconds * kSecond / info.unit_ns) : kNever;
  const auto add_fire = [&](TimerId, Tick deadline) {
    fires_.push_back(instant(deadline - start));
  };
  ops_ = trace_.measured();
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (i % 65'536 == 0) throw_if_interrupted();
    if (ops_[i].id == kAdvance && ops_[i].arg > last - now) {
      model.advance(now = last, add_fire);
      ops_ = ops_.first(i);
      break;
    }
    replay(ops_[i], add_fire);
  }
  std::ranges::sort(fires_);
  schedules_ = count_ops(ops_).schedules;
  end_ = instant(now - start);
  if (end_ == 0) {
    throw TraceError(fmt::format(
        "{}: no time passes in the part to be paced; take a longer one, or another trace",
        info.workload));
  }
}

Tick PacedPlan::instant(Tick ticks) const {
  constexpr double kCentury = 3e18;  // ns; sums of two instants and a clock do not overflow
  return static_cast<Tick>(std::min(static_cast<double>(ticks) * trace_.info().unit_ns, kCentury));
}

PacedFigures run_paced(const PacedOptions& options, const PacedPlan& plan,
                       const ServiceBackend& backend, const StopFlag& stop) {
  PacedFigures figures;
  backend.traits.run_caller([&] {
    // Arming before the start may take longer than the lead; then it is repeated with a longer one.
    for (Tick lead = kLead;; lead *= 4) {
      PacedRun run(options, plan, backend, stop);
      if (!run.arm_before(lead)) continue;
      run.play();
      run.drain();
      figures = run.figures();
      return;
    }
  });
  return figures;
}

}  // namespace timerbench
