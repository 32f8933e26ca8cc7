// Priority queue with lazy deletion: cancelled entries stay until they surface.
//
// A plain binary heap of 16-byte entries {deadline, id, arming}, without back links. Each id has an
// arming number. An entry is live if its number is the id's present one and the id is pending, so
// that cancelling or moving a timer leaves a dead entry behind. When the dead outnumber the living,
// the heap is rebuilt without them, after a cancel, a move or the fires of an advance(). That costs
// O(1) amortised for each entry that dies.
//
// Invariants:
//   1. No entry is due before its parent.
//   2. A pending timer has exactly one live entry; an id that is not pending has none.
//   3. dead_ is the number of dead entries: queued() is size() + dead_.
//   4. The top is live.
//   5. dead_ is at most size() + 64.
//
// Cost:
//   schedule O(1) expected, O(log n) worst: a line for each level that it rises
//   cancel O(1) amortised: the line of its arming number; a rebuild pauses for O(n)
//   advance O(fired log n), and O(log n) for each dead entry that surfaces
//   next_wakeup O(1)
//   40 bytes a timer, reserved at once
//
// Good: for arming and for timers that fire: no handles to keep up to date, no pointers to follow.
// Bad: when one long call hurts: what a cancel saves is paid when its entry surfaces, or in a
//   rebuild, a pause of O(n).
// Follows: java.util.Timer (lazy, purge() left to the user), Go before 1.23 (rebuilds at 1/4 dead).
// Deviates: rebuilds by itself, at 1/2 dead. An entry is told from a later one of its timer by a
//   number; there it is a timer, which knows that it is cancelled. Go's heap has four children.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

class LazyHeap {
 public:
  static constexpr Traits traits{
      .name = "lazy_heap",
      .summary = "binary heap, cancelled entries stay until they surface",
      .precision = Precision::exact,
      .ordered = true,
      .paper = "java.util.Timer, Go"};

  explicit LazyHeap(const QueueConfig& config) : now_(config.start), timers_(config.capacity) {
    heap_.reserve(2 * std::size_t{config.capacity} + kSmallDebt + 1);
  }

  void schedule(TimerId id, Tick deadline) {
    assert(id < timers_.size());
    Timer& timer = timers_[id];
    if (timer.pending) {
      ++dead_;
    } else {
      timer.pending = true;
      ++size_;
    }
    ++timer.arming;
    heap_.push_back({deadline, id, timer.arming});
    std::push_heap(heap_.begin(), heap_.end());
    settle();
  }

  bool cancel(TimerId id) {
    assert(id < timers_.size());
    Timer& timer = timers_[id];
    if (!timer.pending) return false;
    timer.pending = false;
    --size_;
    ++dead_;
    settle();
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    std::size_t fired = 0;
    for (; !heap_.empty() && heap_.front().deadline <= now; ++fired) {
      const Entry due = heap_.front();
      pop();
      timers_[due.id].pending = false;
      --size_;
      drop_dead_tops();
      sink(due.id, due.deadline);
    }
    if (too_many_dead()) rebuild();
    return fired;
  }

  // Entries in the heap, dead ones too: at most 2 * size() + 64.
  std::size_t queued() const { return heap_.size(); }

  Tick next_wakeup() const { return heap_.empty() ? kNever : heap_.front().deadline; }
  std::size_t size() const { return size_; }
  AdvanceWork work() const { return work_; }

 private:
  // A heap this small is not worth rebuilding.
  static constexpr std::size_t kSmallDebt = 64;

  struct Entry {
    Tick deadline;
    TimerId id;
    std::uint32_t arming;

    friend bool operator<(const Entry& a, const Entry& b) { return a.deadline > b.deadline; }
  };

  // The number wraps after 2^32 armings of one id: an entry would have to stay dead in the heap
  // through all of them to be taken for a live one, and a rebuild comes long before.
  struct Timer {
    std::uint32_t arming = 0;
    bool pending = false;
  };

  bool live(const Entry& entry) const {
    const Timer& timer = timers_[entry.id];
    return timer.pending && timer.arming == entry.arming;
  }

  void pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
  }

  // Restores invariants 4 and 5.
  void settle() {
    if (too_many_dead()) {
      rebuild();
    } else {
      drop_dead_tops();
    }
  }

  bool too_many_dead() const { return dead_ > size_ + kSmallDebt; }

  // Drops all dead entries. Rare, so its code is kept out of the callers'.
  [[gnu::noinline]] void rebuild() {
    std::erase_if(heap_, [this](const Entry& entry) { return !live(entry); });
    std::make_heap(heap_.begin(), heap_.end());
    dead_ = 0;
  }

  void drop_dead_tops() {
    while (dead_ > 0 && !live(heap_.front())) {
      pop();
      --dead_;
      ++work_.passed;
    }
  }

  Tick now_;
  std::size_t size_ = 0;
  std::size_t dead_ = 0;
  AdvanceWork work_;           // entries dropped, by any call
  std::vector<Timer> timers_;  // by id
  std::vector<Entry> heap_;
};
static_assert(TimerQueue<LazyHeap>);

}  // namespace timerbench
