// Ring of slots, each an append-only log: the hashed wheel with log_wheel's cure.
//
// It is log_wheel with one level (queues/log_wheel.h, core/timer_logs.h): cancelling and moving
// later is one store, and what a slot names is fetched ahead. A timer of a later round is not
// counted down. It is looked at once a round, and gets an entry for the next.
//
// Example: 4 slots, granularity 1, start at 0.
//   schedule(a, 3)    slot 3
//   schedule(b, 9)    two rounds and one slot ahead: slot 1
//   advance(1)        b is found to be due later, 8 ahead: as far as the ring reaches, slot 0 at 4
//   advance(4)        a fires at 3; at 4 b is found again, 5 ahead: slot 3 at 7
//   advance(9)        b is found at 7, 2 ahead, so it goes to slot 1, and fires at 9
//
// Invariants:
//   1. Those of log_wheel and core/timer_logs.h, for one level.
//
// Cost:
//   schedule O(1): the timer's line, and for a new entry the end of a log (core/id_logs.h)
//   cancel O(1): the timer's line
//   advance O(fired + looked at): a pending timer is looked at once in Slots - 1 granules, or
//     once if it goes further than that; a jump of Slots granules or more, O(entries): rule 8 allows
//     what it moves
//   next_wakeup O(1): the next slot with entries, where all may be of later rounds
//   Sweeps as log_wheel, at most 38 entries a call
//   16 bytes and 1 bit an id, and 8 bytes a slot; 5 an entry in long logs, but a slot with one entry
//     has a chunk of 64 bytes, so up to 64 an entry while timers are fewer than slots
//   The slots are within the object, 520 KiB for 65 536: put it where a stack need not hold it. An
//     array of its own would be one more load for each entry
//
// Good: for delays below Slots granules: no timer is ever moved from level to level.
// Bad: for longer delays, each round looks at all of them; for few timers in many slots.
// Follows: Varghese & Lauck 1987, scheme 6, and log_wheel.
// Deviates: slots are logs, and rounds are not counted: each look compares deadlines.
#pragma once

#include "core/joined_name.h"
#include "core/timer_queue.h"
#include "queues/log_wheel.h"

namespace timerbench {

// Chunks are short, since there are many slots.
inline constexpr LogDesign kLogRing{.lines = 1, .chunks_ahead = 6, .is_ring = true};

template <std::size_t Slots, LogDesign kDesign = kLogRing>
class LogRing : public LogWheel<Slots, kDesign> {
  using Wheel = LogWheel<Slots, kDesign>;

 public:
  static constexpr Traits traits{.name = kSettingName<"log_ring", Slots>,
                                 .summary = "one ring of append-only logs",
                                 .precision = Precision::granular,
                                 .ordered = true,
                                 .paper = "Varghese & Lauck 1987, scheme 6, on logs"};
  using Wheel::Wheel;

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now > now_ && now >= idle_until_) {
      const Tick end = logs_.granularity().floor(now);
      if (end - logs_.hand() >= Slots) logs_.pass_rounds(end - (Slots - 1));
    }
    return Wheel::advance(now, sink);
  }

 private:
  using Wheel::idle_until_;
  using Wheel::logs_;
  using Wheel::now_;
};
static_assert(TimerQueue<LogRing<65536>>);

}  // namespace timerbench
