// One ring of slots with a lock each, a thread that moves the hand, and threads that run the
// handlers.
//
// A timer lies in the slot of its tick, modulo the number of slots. Once a tick the clocker thread
// moves the hand, locks the slot under it and hands the due timers to the executor; the others stay
// for another round. If the clocker was held up, it visits each slot that it passed, once. The
// handlers run in threads of their own, so that a slow one does not stop the hand.
//
// Cost:
//   schedule, cancel  the locks of the timer and of one slot, O(1), and the executor's if it moves
//   tick              a wakeup, due or not; the slot's lock while all timers in it are looked at
//   fire              the executor's mutex three times, and a wakeup of its thread
//   the slots 32 KiB; 64 bytes an id, and the executor's 20
//
// Good: threads that arm and cancel meet only in the same slot.
// Bad: it wakes once a tick even if nothing is pending, and looks at every timer once a round, 512
//   ms at a tick of 1 ms.
// Follows: the hashed wheel of Varghese & Lauck, scheme 6, with the clocker and release threads
//   that server frameworks give it.
// Deviates: Netty's HashedWheelTimer has one thread for both.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <stop_token>
#include <vector>

#include "core/granularity.h"
#include "core/timer_queue.h"
#include "services/executor.h"
#include "services/slot_lists.h"
#include "services/timer_service.h"
#include "services/worker.h"

namespace timerbench {

class RingTimer {
 public:
  static constexpr ServiceTraits traits{
      .name = "ring_timer",
      .summary = "ring of 512 slots, a lock each; a clocker, and threads that run the tasks",
      .precision = Precision::granular,
      .paper = "Varghese & Lauck 1987, scheme 6",
      .threads = 1};

  explicit RingTimer(const ServiceConfig& config)
      : clock_(config.clock),
        granularity_(config.granularity),
        hand_(granularity_.floor(clock_.now())),
        slots_(config.capacity, kSlots),
        executor_(config, handler_threads(config, traits)),
        clocker_(clock_, [this](Alarm& alarm, const std::stop_token& ending) {
          move_hand(alarm, ending);
        }) {}

  RingTimer(const RingTimer&) = delete;
  RingTimer& operator=(const RingTimer&) = delete;

  // REQUIRES: not in the handler.
  ~RingTimer() { end(); }

  void schedule(TimerId id, Tick deadline) {
    const auto lock = slots_.lock_timer(id);
    if (stopped_.load()) throw ServiceStopped();
    if (!slots_.remove(id)) executor_.take_back(id);
    const Tick due = granularity_.ceil(deadline);
    for (bool placed = false; !placed;) {
      const Tick tick = std::max(due, hand_.load() + 1);  // if due is past: the next tick
      placed = slots_.append(slot_of(tick), id, deadline, [&] { return hand_.load() < tick; });
    }
  }

  bool cancel(TimerId id) {
    const auto lock = slots_.lock_timer(id);
    return slots_.remove(id) || executor_.take_back(id);
  }

  // Throws std::bad_alloc once nothing runs any more. Then the next call returns what was pending.
  std::vector<PendingTimer> stop() {
    end();
    std::vector<PendingTimer> pending;
    // In this order: the clocker may still move timers to the executor.
    const std::size_t in_slots = slots_.size();
    pending.reserve(in_slots + executor_.size());
    slots_.take_all(pending);
    executor_.drain(pending);
    return pending;
  }

  std::size_t size() const { return slots_.size() + executor_.size(); }
  std::uint64_t failures() const { return executor_.failures(); }
  std::uint64_t wakeups() const { return clocker_.wakeups() + executor_.wakeups(); }

 private:
  static constexpr SlotLists::List kSlots = 512;

  // Ends all waiting, and returns when no handler runs any more, except one that calls this. No thread
  // arms a timer from there on.
  void end() {
    executor_.close();
    stopped_.store(true);
    slots_.await_timer_locks();
    clocker_.end();
    executor_.end();
  }

  static SlotLists::List slot_of(Tick tick) { return static_cast<SlotLists::List>(tick % kSlots); }

  void move_hand(Alarm& alarm, const std::stop_token& ending) {
    while (!ending.stop_requested()) {
      alarm.wait_until(granularity_.instant(hand_.load() + 1));
      const Tick last = hand_.load();
      const Tick now = granularity_.floor(clock_.now());
      // The hand moves before the slots are visited, so that no thread puts a timer into a slot
      // behind it.
      hand_.store(std::max(last, now));
      for (Tick tick = last + 1; tick <= now && tick - last <= kSlots; ++tick) {
        release(slot_of(tick), granularity_.instant(now));
      }
      executor_.run_submitted();
    }
  }

  void release(SlotLists::List slot, Tick now) {
    slots_.sweep(slot, [&](TimerId id, Tick deadline) {
      if (deadline > now) return slot;
      executor_.submit(id, deadline);
      return SlotLists::kNoList;
    });
  }

  Clock& clock_;
  const Granularity granularity_;
  std::atomic<bool> stopped_ = false;
  std::atomic<Tick> hand_;  // the last tick whose slot has been or is being visited
  SlotLists slots_;
  Executor executor_;

  Worker clocker_;  // last: it uses all the others
};
static_assert(TimerService<RingTimer>);

}  // namespace timerbench
