// Doubly linked lists of timers with a lock each: the slots of a wheel that many threads use.
//
// Links 0 .. ids - 1 are the timers'. Each names the timer before and after it in the list, and the
// list. A list's lock guards its links and which timers are in it: a timer changes its list only
// under the lock of the list that it leaves, so whoever holds that lock and finds the timer in the
// list can rely on it.
//
// lock_timer() serialises callers that arm or cancel the same timer. It is taken before any list's
// lock. A thread holds at most two lists' locks: sweep() takes that of the list to which it moves a
// timer. To avoid a deadlock, all sweeps must move timers the same way round.
//
// Cost:
//   append, remove  2 mutexes with lock_timer(); the timer's line, the list's, and those of a
//                   neighbour or two. Threads whose timers are in different lists share nothing,
//                   not even a count
//   sweep           1 mutex, and 1 a timer that is moved; 2 lines a timer
//   a line an id, most of it the mutex, and a line a list
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/timer_queue.h"
#include "services/timer_service.h"

namespace timerbench {

class SlotLists {
 public:
  using List = std::uint32_t;
  static constexpr List kNoList = ~List{0};

  SlotLists(TimerId ids, std::size_t lists) : timers_(ids), lists_(lists) {}

  [[nodiscard]] std::unique_lock<std::mutex> lock_timer(TimerId id) {
    return std::unique_lock(timers_[id].mutex);
  }

  // Returns when every thread that holds a timer's lock at this moment has released it. O(ids).
  void await_timer_locks() {
    for (Timer& timer : timers_) const std::lock_guard passed(timer.mutex);
  }

  // Puts a timer at the end of a list if admits(), called under the list's lock, returns true;
  // returns that result. REQUIRES: lock_timer(id) is held; the timer is in no list.
  template <class Admits>
  bool append(List list, TimerId id, Tick deadline, Admits&& admits) {
    const std::lock_guard lock(lists_[list].mutex);
    if (!admits()) return false;
    timers_[id].deadline = deadline;
    link(list, id);
    return true;
  }

  void append(List list, TimerId id, Tick deadline) {
    append(list, id, deadline, [] { return true; });
  }

  // Takes a timer out of its list. False if it was in none. REQUIRES: lock_timer(id) is held.
  bool remove(TimerId id) {
    for (;;) {
      const List list = timers_[id].list.load();
      if (list == kNoList) return false;
      const std::lock_guard lock(lists_[list].mutex);
      if (timers_[id].list.load() != list) continue;  // it was moved meanwhile
      unlink(list, id);
      timers_[id].list.store(kNoList);
      return true;
    }
  }

  // Calls place(id, deadline) for each timer of the list in order, and moves the timer to the list
  // that it returns: this one, another, or kNoList, if it has taken the timer over. No thread sees
  // a timer in between; a thread that looks for one that was taken over waits until the sweep has
  // ended.
  template <class Place>
  void sweep(List from, Place&& place) {
    const std::lock_guard lock(lists_[from].mutex);
    for (TimerId id = lists_[from].first; id != kNone;) {
      const TimerId current = id;
      id = timers_[current].next;
      const List to = place(current, timers_[current].deadline);
      if (to == from) continue;
      unlink(from, current);
      if (to == kNoList) {
        timers_[current].list.store(kNoList);
      } else {
        const std::lock_guard lock_to(lists_[to].mutex);
        link(to, current);
      }
    }
  }

  // Appends all timers to `taken` and leaves every list empty. REQUIRES: no thread appends any
  // more.
  void take_all(std::vector<PendingTimer>& taken) {
    for (List list = 0; list < lists_.size(); ++list) {
      sweep(list, [&](TimerId id, Tick deadline) {
        taken.push_back({id, deadline});
        return kNoList;
      });
    }
  }

  // Timers in all lists. O(lists).
  std::size_t size() const {
    std::size_t size = 0;
    for (const Slot& slot : lists_) size += slot.size.load(std::memory_order_relaxed);
    return size;
  }

 private:
  static constexpr TimerId kNone = ~TimerId{0};

  struct alignas(64) Timer {
    Tick deadline;
    TimerId next;
    TimerId prev;
    std::atomic<List> list = kNoList;
    std::mutex mutex;
  };

  struct alignas(64) Slot {
    std::mutex mutex;
    TimerId first = kNone;
    TimerId last = kNone;
    std::atomic<TimerId> size = 0;  // written under the lock
  };

  // REQUIRES, both: the list's lock is held.
  void link(List list, TimerId id) {
    Slot& slot = lists_[list];
    timers_[id].next = kNone;
    timers_[id].prev = slot.last;
    (slot.last == kNone ? slot.first : timers_[slot.last].next) = id;
    slot.last = id;
    timers_[id].list.store(list);
    slot.size.store(slot.size.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  void unlink(List list, TimerId id) {
    Slot& slot = lists_[list];
    const TimerId next = timers_[id].next;
    const TimerId prev = timers_[id].prev;
    (prev == kNone ? slot.first : timers_[prev].next) = next;
    (next == kNone ? slot.last : timers_[next].prev) = prev;
    slot.size.store(slot.size.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }

  std::vector<Timer> timers_;
  std::vector<Slot> lists_;
};

}  // namespace timerbench
