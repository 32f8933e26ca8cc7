// What the Boost.Heap backends share: a mutable heap of (deadline, id), and a handle for every id.
//
// The heap's own code does the work. This class maps ids to handles.
//
// Invariants:
//   1. handles_[id] is the handle of the entry of id, or kNotPending exactly if id is not pending.
//   2. The heap has one entry for each of size_ pending timers. The top is one that is due first.
#pragma once

#include <cassert>
#include <utility>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

struct HeapEntry {
  Tick deadline;
  TimerId id;

  // Boost's heaps keep the largest on top: an entry that is due earlier is larger.
  friend bool operator<(const HeapEntry& a, const HeapEntry& b) { return a.deadline > b.deadline; }
};

// Heap: a mutable Boost.Heap of HeapEntry that counts no entry before it has memory for it.
template <class Heap>
class BoostHeap {
 public:
  explicit BoostHeap(const QueueConfig& config) : now_(config.start), handles_(config.capacity) {
    if constexpr (requires { heap_.reserve(0); }) heap_.reserve(config.capacity);
  }
  BoostHeap(const BoostHeap&) = delete;  // the handles point into the heap
  BoostHeap& operator=(const BoostHeap&) = delete;

  void schedule(TimerId id, Tick deadline) {
    assert(id < handles_.size());
    Handle& handle = handles_[id];
    if (handle == kNotPending) {
      handle = heap_.push({deadline, id});
      ++size_;
    } else {
      heap_.update(handle, HeapEntry{deadline, id});
    }
  }

  bool cancel(TimerId id) {
    assert(id < handles_.size());
    Handle& handle = handles_[id];
    if (handle == kNotPending) return false;
    heap_.erase(std::exchange(handle, kNotPending));
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    std::size_t fired = 0;
    while (fire_first(now, sink)) ++fired;
    return fired;
  }

  // Fires the timer that is due first, if one is. Returns whether it did.
  template <class Sink>
  bool fire_first(Tick now, Sink&& sink) {
    if (size_ == 0 || heap_.top().deadline > now) return false;
    const HeapEntry due = heap_.top();
    heap_.pop();
    --size_;
    handles_[due.id] = kNotPending;
    sink(due.id, due.deadline);
    return true;
  }

  Tick next_wakeup() const { return size_ == 0 ? kNever : heap_.top().deadline; }
  std::size_t size() const { return size_; }
  std::size_t queued() const { return size_; }

 protected:
  void cancel_all() {
    for (TimerId id = 0; id < handles_.size(); ++id) cancel(id);
  }

 private:
  using Handle = typename Heap::handle_type;
  static inline const Handle kNotPending{};

  Tick now_;
  std::size_t size_ = 0;
  Heap heap_;
  std::vector<Handle> handles_;  // by id
};

}  // namespace timerbench
