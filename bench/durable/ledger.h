// What became of each timer, told by all clients, in memory that they share.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "core/timer_queue.h"
#include "durable/durable_queue.h"
#include "durable/shared_array.h"

namespace timerbench {

// The ids that count are below its size; others are ignored.
class DurableLedger {
 public:
  using Awaits = std::function<bool(DurableId)>;

  // completions() are those of timers that `awaits` admits; none: all.
  explicit DurableLedger(std::uint64_t timers, Awaits awaits = {})
      : awaits_(std::move(awaits)), timers_(timers) {}

  void armed(DurableId id) { note(id, kArmed); }
  void cancelled(DurableId id) { note(id, kCancelled); }
  // At the last of these calls for the timer.
  void handed_out(DurableId id, Tick at) {
    if (id < timers_.size()) timers_[id].handed_out = at;
  }
  void completed(DurableId id) {
    if (id >= timers_.size()) return;
    if ((timers_[id].marks.fetch_or(kCompleted) & kCompleted) != 0) {
      note(id, kCompletedTwice);
    } else if (!awaits_ || awaits_(id)) {
      ++completions_[0];
    }
  }

  // The sum of armed and the like.
  struct Sums {
    std::uint64_t armed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t completed = 0;  // each once
  };
  Sums sums() const;

  std::uint64_t completions() const { return completions_[0]; }
  std::uint64_t size() const { return timers_.size(); }
  bool is_armed(DurableId id) const { return has(id, kArmed); }
  bool is_cancelled(DurableId id) const { return has(id, kCancelled); }
  // When it was handed out, if it was completed; else 0.
  Tick fired_at(DurableId id) const {
    return has(id, kCompleted) ? Tick{timers_[id].handed_out} : 0;
  }

  // What contradicts itself: a timer that was completed twice, or though it was cancelled or never
  // armed. Empty: nothing.
  std::string contradiction() const;

 private:
  static constexpr std::uint8_t kArmed = 1, kCancelled = 2, kCompleted = 4, kCompletedTwice = 8;

  struct Timer {
    std::atomic<std::uint8_t> marks = 0;
    std::atomic<Tick> handed_out = 0;
  };

  void note(DurableId id, std::uint8_t mark) {
    if (id < timers_.size()) timers_[id].marks |= mark;
  }
  bool has(DurableId id, std::uint8_t mark) const { return (timers_[id].marks & mark) != 0; }

  const Awaits awaits_;
  SharedArray<Timer> timers_;
  SharedArray<std::atomic<std::uint64_t>> completions_{1};
};

}  // namespace timerbench
