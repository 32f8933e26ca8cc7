#include "realtime/audited_service.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

namespace timerbench {
namespace {

// A deadline is a multiple of kSerials plus the arming's serial number. The numbers are scattered
// so that successive armings are not all due at once.
constexpr Tick kSerials = Tick{1} << 20;
constexpr Tick kScatter = 0x9e375;
constexpr Tick kGather = 0xb94dd;
static_assert(kScatter * kGather % kSerials == 1);

}  // namespace

AuditedService::AuditedService(const ServiceBackend& backend, ServiceConfig config,
                               std::size_t threads)
    : traits_(backend.traits),
      handler_(config.handler),
      clock_(config.clock),
      capacity_(config.capacity),
      granularity_(config.granularity),
      patience_(5'000 * kMillisecond + granularity_),
      start_(clock_.now()),
      room_(kSerials / (threads + 1)),
      logs_(threads + 1) {
  for (auto& log : logs_) log.reserve(room_);
  config.handler = [this](TimerId id, Tick deadline) { record_fire(id, deadline); };
  service_ = backend.make(config);
}

void AuditedService::schedule(std::size_t thread, TimerId id, Tick deadline) {
  const Tick serial = thread * room_ + logs_[thread].size();
  deadline = deadline / kSerials * kSerials + serial * kScatter % kSerials;
  try {
    record(thread, id, deadline, [&] {
      service_->schedule(id, deadline);
      return false;
    });
  } catch (const ServiceStopped&) {
    if (stop_called_ == kNoMoment) refused_early_ = true;
  }
}

void AuditedService::cancel(std::size_t thread, TimerId id) {
  record(thread, id, kNever, [&] { return service_->cancel(id); });
}

template <class Do>
void AuditedService::record(std::size_t thread, TimerId id, Tick deadline, Do call) {
  const Moment begin = next_moment();
  const bool cancelled = call();
  const Moment end = next_moment();
  logs_[thread].push_back({.id = id,
                           .thread = static_cast<std::uint8_t>(thread),
                           .cancelled = cancelled,
                           .deadline = deadline,
                           .begin = begin,
                           .end = end,
                           .returned = clock_.now()});
}

void AuditedService::record_fire(TimerId id, Tick deadline) {
  const Moment begin = next_moment();
  const Tick now = clock_.now();
  if (handler_) handler_(id, deadline);
  const Moment end = next_moment();
  const std::lock_guard lock(mutex_);
  fires_.push_back({.timer = {id, deadline}, .moment = begin, .end = end, .at = now});
}

void AuditedService::stop() {
  stop_called_ = next_moment();
  pending_ = service_->stop();
  stopped_ = next_moment();
  stopped_at_ = clock_.now();
}

std::optional<std::string> AuditedService::finish(const StopFlag& stop) {
  if (stopped_ == kNoMoment) {
    drain(stop);
    this->stop();
  }
  const std::uint64_t failures = service_->failures();
  service_.reset();  // waits for its threads
  if (refused_early_) return "schedule() threw ServiceStopped before stop() was called";
  if (failures > 0) return fmt::format("failures() is {}, but no handler has thrown", failures);
  if (auto wrong = check_fires()) return wrong;
  if (auto wrong = check_pending()) return wrong;
  return check_histories(stop);
}

// The timers far ahead show whether stop() hands back pending timers.
void AuditedService::drain(const StopFlag& stop) {
  const std::size_t self = logs_.size() - 1;
  std::size_t far = 0;
  for (TimerId id = 1; id < capacity_ && !full(self); id += 2) {
    schedule(self, id, clock_.now() + kHour);
    ++far;
  }
  const Tick give_up = clock_.now() + patience_ + 1'000 * kMillisecond;
  while (service_->size() > far && clock_.now() < give_up && !stop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

AuditedService::Call* AuditedService::find(const PendingTimer& timer) {
  const Tick serial = timer.deadline * kGather % kSerials;
  if (serial / room_ >= logs_.size()) return nullptr;
  auto& log = logs_[serial / room_];
  if (serial % room_ >= log.size()) return nullptr;
  Call& call = log[serial % room_];
  return call.id == timer.id && call.deadline == timer.deadline ? &call : nullptr;
}

Tick AuditedService::earliest(Tick deadline) const {
  return traits_.precision == Precision::early ? deadline - deadline % granularity_ : deadline;
}

std::optional<std::string> AuditedService::check_fires() {
  for (const Fire& fire : fires_) {
    const auto [id, deadline] = fire.timer;
    Call* const arming = find(fire.timer);
    if (!arming) {
      return fmt::format("timer {} fired for {}, for which it was never armed", id, ms(deadline));
    }
    if (arming->fires()) return fmt::format("timer {} fired twice for {}", id, ms(deadline));
    if (fire.at < earliest(deadline)) {
      return fmt::format("timer {} fired {} ns before its deadline", id, deadline - fire.at);
    }
    if (fire.moment > stopped_) {
      return fmt::format("timer {} fired after stop() had returned", id);
    }
    if (fire.end > stopped_) {
      return fmt::format("the handler of timer {} still ran after stop() had returned", id);
    }
    arming->fired = fire.moment;
    ++counts_.fired;
  }
  return std::nullopt;
}

std::optional<std::string> AuditedService::check_pending() {
  for (const PendingTimer& timer : pending_) {
    Call* const arming = find(timer);
    if (!arming || arming->handed_back || arming->fires()) {
      return fmt::format("stop() handed back timer {} for {}, {}", timer.id, ms(timer.deadline),
                         !arming               ? "for which it was never armed"
                         : arming->handed_back ? "twice"
                                               : "for which it fired");
    }
    if (timer.deadline + patience_ < stopped_at_) {
      return fmt::format("timer {} was due at {} and had not fired at {}", timer.id,
                         ms(timer.deadline), ms(stopped_at_));
    }
    arming->handed_back = true;
    ++counts_.pending;
  }
  return std::nullopt;
}

std::optional<std::string> AuditedService::check_histories(const StopFlag& stop) {
  std::vector<const Call*> calls;
  for (const auto& log : logs_) {
    for (const Call& call : log) {
      calls.push_back(&call);
      counts_.armed += call.arms();
      counts_.cancelled += call.cancelled;
    }
  }
  std::ranges::sort(calls, {}, [](const Call* call) { return std::pair(call->id, call->begin); });
  for (auto first = calls.begin(); first != calls.end() && !stop;) {
    const auto last = std::find_if(first, calls.end(),
                                   [&](const Call* call) { return call->id != (*first)->id; });
    if (auto wrong = check_history({first, last})) return wrong;
    first = last;
  }
  return std::nullopt;
}

std::optional<const AuditedService::Call*> AuditedService::effect(const Call* armed,
                                                                  const Call& call) const {
  if (armed && armed->handed_back) {
    const bool comes_after = !call.arms() && !call.cancelled && call.end > stop_called_;
    return comes_after ? std::optional(armed) : std::nullopt;
  }
  if (armed && armed->fires()) {  // it has fired, or is about to
    if (call.returned < earliest(armed->deadline)) return std::nullopt;
    armed = nullptr;
  }
  if (call.arms()) return &call;
  if (call.cancelled != (armed != nullptr)) return std::nullopt;
  return nullptr;
}

std::optional<std::string> AuditedService::check_history(std::span<const Call* const> calls) const {
  // The call that armed the timer, and the threads whose open calls have taken effect.
  using State = std::pair<const Call*, std::uint64_t>;
  const auto bit = [](const Call* call) { return std::uint64_t{1} << call->thread; };

  std::vector<std::pair<Moment, const Call*>> bounds;
  for (const Call* call : calls) {
    bounds.emplace_back(call->begin, call);
    bounds.emplace_back(call->limit(), call);
  }
  std::ranges::sort(bounds);

  std::set<State> states{{nullptr, 0}};
  std::vector<const Call*> open;
  for (const auto& [moment, call] : bounds) {
    if (moment == call->begin) {
      open.push_back(call);
      continue;
    }
    // All states in which the call has taken effect, after any other open calls.
    std::set<State> reached = states;
    std::vector<State> unfinished(states.begin(), states.end());
    const Call* const armed = states.begin()->first;
    states.clear();
    while (!unfinished.empty()) {
      const auto [before, done] = unfinished.back();
      unfinished.pop_back();
      if (done & bit(call)) {
        states.emplace(before, done & ~bit(call));
        continue;
      }
      for (const Call* next : open) {
        if (done & bit(next)) continue;
        const auto after = effect(before, *next);
        if (!after) continue;
        const State state{*after, done | bit(next)};
        if (reached.insert(state).second) unfinished.push_back(state);
      }
    }
    std::erase(open, call);
    if (states.empty()) {
      return fmt::format("timer {}: {} by {}, but {}", call->id,
                         call->arms()      ? "schedule() returned"
                         : call->cancelled ? "cancel() returned true"
                                           : "cancel() returned false",
                         ms(call->returned), describe(armed));
    }
  }
  const bool ends = std::ranges::any_of(states, [](const State& state) {
    const Call* const armed = state.first;
    return !armed || armed->fires() || armed->handed_back;
  });
  if (ends) return std::nullopt;
  return fmt::format("timer {}: stop() did not hand it back, but {}", calls.front()->id,
                     describe(states.begin()->first));
}

std::string AuditedService::describe(const Call* armed) const {
  if (!armed) return "nothing was armed";
  return fmt::format("the arming for {} {}", ms(armed->deadline),
                     armed->handed_back ? "was pending to the end"
                     : armed->fires()   ? "fired all the same"
                                        : "never fired");
}

std::string AuditedService::ms(Tick instant) const {
  return fmt::format("{:.3f} ms",
                     (static_cast<double>(instant) - static_cast<double>(start_)) / 1e6);
}

}  // namespace timerbench
