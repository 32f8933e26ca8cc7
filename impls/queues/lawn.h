// A list for each distinct delay, first in, first out, and a heap of these lists.
//
// Time does not go back, so timers of the same delay are due in the order in which they were armed:
// a list that is only appended to is sorted. Programs use few different delays, for delays are
// constants in their code. So the heap, which says which list has the timer that is due first, is
// small, however many timers there are.
//
// A list is in the heap under the deadline of its first timer, or under an earlier instant if its
// first timer was cancelled or moved: the heap is told only when that instant is reached. An empty
// list leaves the heap at once, so that there are no more lists than timers, and serves as the list
// of another delay later.
//
// What is due when it is armed has no delay: its list is that of its deadline.
//
// Example: the clock stands at 0.
//   schedule(a, 30)   delay 30: a list with a, in the heap under 30
//   schedule(b, 100)  delay 100: a list with b, under 100
//   advance(10)
//   schedule(c, 40)   delay 30 again: the list is a, c
//   schedule(a, 110)  delay 100: a leaves its list, which is c and stays under 30, for b, a
//   next_wakeup()     30, when nothing is due
//   advance(30)       the list of c moves on to 40
//   advance(40)       c fires; the list of delay 30 is empty and leaves the heap
//   advance(105)      b fires; the list of a moves on to 110
//
// Invariants:
//   1. A pending timer is in the list of its delay or, if it was due when it was armed, in the list
//      of its deadline. A list's deadlines do not decrease.
//   2. The tables have an entry for each list with timers, and heap_[0 .. live_) has one. The rest
//      of heap_ are lists without timers.
//   3. An entry of the heap is not under a later instant than the first deadline of its list, nor
//      than its two children in the heap.
//   4. homes_[n] says what list n is the list of, and its place in the heap.
//
// Cost:
//   schedule O(1), O(log k) for the first timer of one of k delays: 4 lines (core/index_lists.h)
//     and a probe of the table; moving a timer adds the lines of cancel. A delay that is one more
//     than ever before may double the table and the heap: O(k), and the memory is kept
//   cancel O(1), O(log k) for the last timer of a delay: the links of the timer and its two
//     neighbours (3 lines)
//   advance O(fired log k), and as much for each list whose first timer was cancelled: 3 lines a
//     timer, and those of a heap of k entries
//   next_wakeup O(1): an instant at which the first timer may have been cancelled
//   24 bytes a timer and 60 to 75 a delay
//
// Good: for time-outs, whose delays are few constants.
// Bad: for random delays: each timer then needs a list, an entry of the heap and one of the table.
//   The suite delays shows from how many delays on it costs more than index_heap_4: with 10^5 timers
//   from about a thousand (docs/backends.md).
// Follows: Lev-Libfeld 2019, "Lawn: an unbound low latency timer data structure"; Node.js.
// Deviates: Lawn looks at the first timer of every list to find what is due; the heap is Node's.
//   Node rounds to whole milliseconds and fires all that is due of a list before that of another.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/index_lists.h"
#include "core/tick_table.h"
#include "core/timer_queue.h"

namespace timerbench {

class Lawn {
 public:
  static constexpr Traits traits{.name = "lawn",
                                 .summary = "a list for each distinct delay, and a heap of them",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Lev-Libfeld 2019; Node.js"};

  explicit Lawn(const QueueConfig& config)
      : now_(config.start),
        lists_(config.capacity, config.capacity + std::size_t{1}),
        first_list_(lists_.add_list()) {}

  void schedule(TimerId id, Tick deadline) {
    const bool is_due = deadline <= now_;
    const List list = list_of(is_due, is_due ? deadline : deadline - now_, deadline);
    if (lists_.linked(id)) {
      if (const List emptied = lists_.unlink(id); emptied != list) retire(emptied);
      --size_;
    }
    lists_.set_deadline(id, deadline);
    lists_.append(list, id);
    ++size_;
  }

  bool cancel(TimerId id) {
    if (!lists_.linked(id)) return false;
    retire(lists_.unlink(id));
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    const std::size_t before = size_;
    while (live_ > 0 && heap_[0].due <= now) {
      const TimerId id = *lists_.first(list(heap_[0].number));
      const Tick deadline = lists_.deadline(id);
      if (deadline != heap_[0].due) {
        heap_[0].due = deadline;
        sift_down(0);
      } else {
        retire(lists_.unlink(id));
        --size_;
        sink(id, deadline);
      }
    }
    return before - size_;
  }

  Tick next_wakeup() const { return live_ > 0 ? heap_[0].due : kNever; }

  std::size_t size() const { return size_; }

  // Lists in the heap, which all have timers.
  std::size_t queued() const { return live_; }

 private:
  using List = IndexLists::List;

  // Lists are numbered in the order in which they were made.
  struct Entry {
    Tick due;
    std::uint32_t number;
  };
  struct Home {
    Tick key;  // the delay, or the deadline of what was due
    std::uint32_t place;
    bool is_due;
  };

  List list(std::uint32_t number) const { return IndexLists::nth(first_list_, number); }
  TickTable& table(bool is_due) { return is_due ? by_deadline_ : by_delay_; }

  // The list of this key; a new one is in the heap under `deadline`. Changes nothing that matters
  // if it throws std::bad_alloc.
  List list_of(bool is_due, Tick key, Tick deadline) {
    if (const auto* entry = table(is_due).find(key)) return list(entry->value);
    if (live_ == heap_.size()) add_list();
    auto& [due, number] = heap_[live_];
    table(is_due).insert(key, number);
    due = deadline;
    homes_[number] = {.key = key, .place = live_, .is_due = is_due};
    const List added = list(number);
    sift_up(live_++);
    return added;
  }

  void add_list() {
    const auto number = static_cast<std::uint32_t>(heap_.size());
    if (homes_.size() == number) homes_.emplace_back();  // unless memory ran out after it before
    heap_.push_back({.due = kNever, .number = number});
    lists_.add_list();
  }

  // Takes a list that has become empty out of the heap. REQUIRES: it is in the heap, or kNoList.
  void retire(List emptied) {
    if (emptied == IndexLists::kNoList) return;
    const auto [key, place, is_due] = homes_[IndexLists::distance(first_list_, emptied)];
    table(is_due).erase(key);
    std::swap(heap_[place], heap_[--live_]);
    if (place == live_) return;
    sift_up(place);
    sift_down(place);
  }

  void sift_up(std::uint32_t place) {
    const Entry entry = heap_[place];
    for (; place > 0 && entry.due < heap_[(place - 1) / 2].due; place = (place - 1) / 2) {
      put(place, heap_[(place - 1) / 2]);
    }
    put(place, entry);
  }

  void sift_down(std::uint32_t place) {
    const Entry entry = heap_[place];
    for (std::uint32_t child; (child = 2 * place + 1) < live_; place = child) {
      if (child + 1 < live_ && heap_[child + 1].due < heap_[child].due) ++child;
      if (entry.due <= heap_[child].due) break;
      put(place, heap_[child]);
    }
    put(place, entry);
  }

  void put(std::uint32_t place, Entry entry) {
    heap_[place] = entry;
    homes_[entry.number].place = place;
  }

  Tick now_;
  std::size_t size_ = 0;
  IndexLists lists_;
  List first_list_;
  TickTable by_delay_;
  TickTable by_deadline_;
  std::vector<Entry> heap_{{.due = kNever, .number = 0}};
  std::uint32_t live_ = 0;  // entries of heap_ whose lists have timers
  std::vector<Home> homes_{1};
};
static_assert(TimerQueue<Lawn>);

}  // namespace timerbench
