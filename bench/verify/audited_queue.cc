#include "verify/audited_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace timerbench {
namespace {

// The first multiple of `granularity` that is not before t, or the largest tick.
Tick round_up(Tick t, Tick granularity) {
  const Tick rest = t % granularity;
  if (rest == 0) return t;
  return t <= kNever - 1 - (granularity - rest) ? t + (granularity - rest) : kNever - 1;
}

// How late Precision::relative allows a timer of this delay to be.
Tick most_late(Tick delay) { return delay / 63 * 8 + delay % 63 * 8 / 63; }

template <class... Args>
[[noreturn]] void violated(std::string_view rule, fmt::format_string<Args...> text,
                           Args&&... args) {
  throw ContractViolation(
      fmt::format("rule {}: {}", rule, fmt::format(text, std::forward<Args>(args)...)),
      call_log().text());
}

}  // namespace

AuditedQueue::AuditedQueue(const Backend& backend, const QueueConfig& config)
    : traits_(backend.traits),
      granularity_(config.granularity),
      now_(config.start),
      queue_(backend, config),
      deadlines_(config.capacity),
      due_(config) {
  check_observers();
}

Tick AuditedQueue::earliest(Tick deadline) const {
  return traits_.precision == Precision::early ? deadline - deadline % granularity_ : deadline;
}

Tick AuditedQueue::latest(Tick deadline) const {
  switch (traits_.precision) {
    case Precision::granular: return round_up(deadline, granularity_);
    case Precision::relative: {
      const Tick rounded = round_up(deadline, granularity_);
      const Tick delay = deadline - std::min(deadline, now_);
      return rounded + std::min(most_late(delay), kNever - 1 - rounded);
    }
    default: return deadline;
  }
}

void AuditedQueue::schedule(TimerId id, Tick deadline) {
  queue_.schedule(id, deadline);
  deadlines_[id] = deadline;
  due_.schedule(id, latest(deadline));
  check_observers();
}

bool AuditedQueue::cancel(TimerId id) {
  const bool pending = due_.cancel(id);
  const bool cancelled = queue_.cancel(id);
  if (cancelled != pending) {
    violated("4", "cancel({}) returned {} although the timer is {}", id, cancelled,
             pending ? "pending" : "not pending");
  }
  check_observers();
  return cancelled;
}

void AuditedQueue::check_fire(TimerId id, Tick deadline, Tick now, Tick& last_due) {
  if (id >= deadlines_.size()) violated("3", "fired timer {}, which does not exist", id);
  if (now < now_) violated("8", "timer {} fired although time ran backwards to {}", id, now);
  if (!due_.pending(id)) violated("3", "timer {} fired at {}, but it is not pending", id, now);
  if (deadline != deadlines_[id]) {
    violated("3", "timer {} fired for deadline {}, but it was last armed for {}", id, deadline,
             deadlines_[id]);
  }
  if (now < earliest(deadline)) {
    violated("1", "timer {} fired at {}, before its deadline {}", id, now, deadline);
  }
  const Tick due = traits_.precision == Precision::early ? earliest(deadline) : due_.deadline(id);
  if (traits_.ordered && due < last_due) {
    violated("6", "timer {} (due {}) fired after one that is due at {}", id, due, last_due);
  }
  last_due = due;
  due_.cancel(id);
}

std::size_t AuditedQueue::advance(Tick now) {
  // A relative queue that wakes up too late may be late itself, or only next_wakeup() is wrong. An
  // advance() to the latest instant tells which.
  const Tick latest = std::max(now_, due_.next_wakeup());
  const bool oversleeps = wakeup_ > latest && latest <= now;
  if (oversleeps) now = latest;
  fired_.clear();
  Tick last_due = 0;
  const std::size_t count = queue_.advance(now, [&](TimerId id, Tick deadline) {
    check_fire(id, deadline, now, last_due);
    fired_.push_back(id);
  });
  if (count != fired_.size()) {
    violated("3", "advance({}) returned {} but called the sink {} times", now, count,
             fired_.size());
  }
  if (now >= now_ && due_.next_wakeup() <= now) {
    const TimerId id = due_.next_id();
    violated("2", "timer {} (deadline {}, armed for {} at the latest) did not fire at {}", id,
             deadlines_[id], due_.next_wakeup(), now);
  }
  if (oversleeps) violated("9", "next_wakeup() is {}, but advance({}) fires", wakeup_, now);
  now_ = std::max(now_, now);
  total_fired_ += count;
  check_observers();
  return count;
}

std::size_t AuditedQueue::sleep_until(Tick now, std::size_t max_wakeups) {
  const std::size_t before = total_fired_;
  std::vector<TimerId> all;
  for (std::size_t empty = 0; empty < max_wakeups && next_wakeup() <= now;) {
    const Tick wakeup = std::max(now_, next_wakeup());
    if (advance(wakeup) == 0) {
      ++empty;
      ++empty_wakeups_;
      if (next_wakeup() <= wakeup) {
        if (traits_.guesses_wakeup) break;
        violated("9b", "next_wakeup() is {} after advance({}) found nothing to fire", next_wakeup(),
                 wakeup);
      }
    }
    all.insert(all.end(), fired_.begin(), fired_.end());
  }
  advance(now);
  all.insert(all.end(), fired_.begin(), fired_.end());
  fired_ = std::move(all);
  return total_fired_ - before;
}

std::optional<TraceViolation> AuditedQueue::audit(std::span<const Op> ops, Driver driver,
                                                  const StopFlag& stop) {
  std::size_t i = 0;
  try {
    for (; i < ops.size() && !stop; ++i) {
      const Op op = ops[i];
      if (op.id == kAdvance) {
        driver == Driver::sleeping ? sleep_until(now_ + op.arg) : advance(now_ + op.arg);
      } else if (op.arg == kCancel) {
        cancel(op.id);
      } else {
        schedule(op.id, now_ + op.arg);
      }
    }
    if (!stop) queue_.sync();
    return std::nullopt;
  } catch (const ContractViolation& violation) {
    const std::string where =
        i < ops.size() ? fmt::format("operation {}", i) : "after the last operation";
    return TraceViolation{i, fmt::format("{}: {}", where, violation.what()), violation.calls};
  }
}

void AuditedQueue::check_observers() {
  const std::size_t size = queue_.size();
  if (size != due_.size()) violated("3", "size() is {} with {} timers pending", size, due_.size());
  wakeup_ = next_wakeup();
  if (due_.size() == 0) {
    if (wakeup_ != kNever) {
      violated("9", "next_wakeup() is {} although nothing is pending", wakeup_);
    }
  } else if (wakeup_ > std::max(now_, due_.next_wakeup()) &&
             (traits_.precision != Precision::relative || wakeup_ == kNever)) {
    violated("9", "next_wakeup() is {}, but timer {} is due at {}", wakeup_, due_.next_id(),
             due_.next_wakeup());
  }
}

}  // namespace timerbench
