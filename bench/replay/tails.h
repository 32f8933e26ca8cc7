// The tails pass: how long single calls take. It times every advance(), schedule() and cancel().
//
// A clock read costs as much as an operation, so these figures are never mixed with costs, and the
// cost of two reads is reported with them. Any call may be long because the machine was busy. But
// every replay of a trace does the same work in the same call. So the shortest of several replays is
// the time of the call itself.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/timer_queue.h"
#include "replay/durations.h"
#include "replay/replay.h"
#include "system/mapped_file.h"
#include "system/stop.h"
#include "trace/op.h"
#include "trace/outcome.h"

namespace timerbench {

// One advance() and its work; moved, passed and level only if the backend reports them.
struct AdvanceCall {
  double ns = 0;
  std::uint64_t op = 0;  // its index among the measured operations
  std::uint64_t fired = 0;
  std::uint64_t moved = 0;
  std::uint64_t passed = 0;
  std::uint32_t level = 0;
};

// The shortest time of each call in the replays of a trace so far, in ns and in the order of the
// trace; empty at first.
struct LeastTimes {
  std::vector<float> advance, schedule, cancel;
};

struct Tails {
  Outcome outcome;  // of all operations, setup included
  Durations advance, schedule, cancel;
  AdvanceCall worst_advance;  // the longest, of the shortest time of each
  double worst_schedule = 0;  // likewise, in ns; 0: there was none
  double worst_cancel = 0;
  std::vector<AdvanceCall> timeline;  // the longest in each stretch of operations, likewise
  bool explained = false;             // the backend reports moved, passed and level
  // The most things that the backend kept in order at the beginning of an advance() or at the end.
  std::optional<std::size_t> most_queued;
  double clock_ns = 0;   // the median of two clock reads in a row
  bool stopped = false;  // before the end: the figures are invalid
};

// The calls of one kind in a replay.
class TimedCalls {
 public:
  explicit TimedCalls(std::vector<float>& least) : least_(least) {}

  // Adds the next one. Returns its shortest time.
  double add(double ns) {
    durations_.add(ns);
    const auto value = static_cast<float>(ns);
    if (count_ == least_.size()) least_.push_back(value);
    float& least = least_[count_++];
    least = std::min(least, value);
    worst_ = std::max<double>(worst_, least);
    return least;
  }

  const Durations& durations() const { return durations_; }
  double worst() const { return worst_; }  // the longest, of the shortest time of each

 private:
  std::vector<float>& least_;
  std::size_t count_ = 0;
  double worst_ = 0;
  Durations durations_;
};

template <TimerQueue Queue>
class TailsRecorder {
 public:
  TailsRecorder(Queue& queue, std::size_t ops, LeastTimes& least)
      : queue_(queue),
        stretch_(std::max<std::size_t>(1, (ops + kStretches - 1) / kStretches)),
        advances_(least.advance),
        schedules_(least.schedule),
        cancels_(least.cancel) {}

  std::size_t advance(Tick now, Outcome& outcome, std::uint64_t op) {
    count_queued();
    const AdvanceWork before = work();
    const auto start = Clock::now();
    const std::size_t fired = queue_.advance(now, DigestFires(outcome, now));
    const double ns = since(start);
    const AdvanceWork after = work();
    const AdvanceCall call{advances_.add(ns),
                           op,
                           fired,
                           after.moved - before.moved,
                           after.passed - before.passed,
                           after.moved != before.moved ? after.level : 0};
    if (call.ns > tails_.worst_advance.ns) tails_.worst_advance = call;
    const std::size_t stretch = op / stretch_;
    if (tails_.timeline.empty() || tails_.timeline.back().op / stretch_ != stretch) {
      tails_.timeline.push_back(call);
    } else if (call.ns > tails_.timeline.back().ns) {
      tails_.timeline.back() = call;
    }
    return fired;
  }

  void schedule(TimerId id, Tick deadline) {
    const auto start = Clock::now();
    queue_.schedule(id, deadline);
    schedules_.add(since(start));
  }
  bool cancel(TimerId id) {
    const auto start = Clock::now();
    const bool was_pending = queue_.cancel(id);
    cancels_.add(since(start));
    return was_pending;
  }

  // REQUIRES: called once, last.
  Tails take() {
    tails_.advance = advances_.durations();
    tails_.schedule = schedules_.durations();
    tails_.cancel = cancels_.durations();
    tails_.worst_schedule = schedules_.worst();
    tails_.worst_cancel = cancels_.worst();
    count_queued();
    return std::move(tails_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kStretches = 500;

  static double since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }

  AdvanceWork work() const {
    if constexpr (requires { queue_.work(); }) return queue_.work();
    return {};
  }

  void count_queued() {
    if constexpr (requires { queue_.queued(); }) {
      tails_.most_queued = std::max(tails_.most_queued.value_or(0), queue_.queued());
    }
  }

  Queue& queue_;
  std::size_t stretch_;
  TimedCalls advances_, schedules_, cancels_;
  Tails tails_;
};

// The cost of two clock reads.
double clock_cost_ns();

// Replays the setup untimed, then the measured operations. Pass the same `least` to all replays of
// a trace.
template <TimerQueue Queue>
Tails replay_tails(const QueueConfig& config, std::span<const Op> setup,
                   std::span<const Op> measured, LeastTimes& least, const StopFlag& stop) {
  touch_pages(measured.data(), measured.size_bytes());
  Queue queue(config);
  Tick now = config.start;
  Outcome outcome = replay(queue, setup, now, stop);
  sync(queue);
  TailsRecorder<Queue> recorder(queue, measured.size(), least);
  Outcome measured_outcome;
  for (std::size_t i = 0; i < measured.size() && !stop.load(std::memory_order_relaxed); ++i) {
    const Op op = measured[i];
    if (op.id == kAdvance) {
      now += op.arg;
      measured_outcome.fired += recorder.advance(now, measured_outcome, i);
    } else if (op.arg == kCancel) {
      measured_outcome.cancelled += recorder.cancel(op.id);
    } else {
      recorder.schedule(op.id, now + op.arg);
    }
  }
  sync(queue);
  measured_outcome.pending = queue.size();
  Tails tails = recorder.take();
  tails.explained = requires { queue.work(); };
  tails.outcome = outcome;
  tails.outcome += measured_outcome;
  tails.clock_ns = clock_cost_ns();
  tails.stopped = stop.load();
  return tails;
}

}  // namespace timerbench
