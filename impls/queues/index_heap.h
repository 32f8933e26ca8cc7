// Implicit d-ary heap that keeps the place of each id in an array: no handles, no nodes.
//
// The heap is one array of entries {deadline, id}. A second array says at which place of the heap
// the entry of an id is, so that a timer is moved or removed where it is. The last entry fills the
// place of one that is removed, and then rises or sinks once.
//
// Three things make it fast. A sift carries its entry beside the array and moves others into the
// hole, which is one store a level and no swap. The least of the children is found by conditional
// moves: which child it is cannot be predicted, and a wrong guess costs as much as several levels.
// While the children are compared, all their children are fetched, so that a level below the cache
// costs no miss of its own.
//
// Places begin at Arity - 1, the root. So the children of each place begin at a multiple of Arity:
//   Arity 4    root 3; its children 4 to 7; their children 8 to 11, 12 to 15, 16 to 19, 20 to 23
//   parent of 17       17 / 4 + 2 = 6
//   children of 6      from 4 * (6 - 2) = 16 on
// The array begins at a cache line and an entry is 16 bytes: four children are just one line.
//
// Invariants:
//   1. No entry is due before its parent. The place before the root holds deadline 0 and no timer,
//      so that a rising entry stops at the root.
//   2. places_[id] is the place of the entry of id, or kNotPending exactly if id is not pending.
//   3. The entries fill the places from the root to end_. All places from there on hold kNever, so
//      that the least of Arity children is a timer if there is one child.
//
// Cost:
//   schedule O(log n) worst, O(1) for late deadlines, which stay near the leaves: the line of the
//     place, and two lines for each level that the entry rises or sinks
//   cancel O(log n) worst, O(1) expected for timers at random, most of which are leaves: the lines
//     of its place and entry, of the last entry and its place, and of a level or two
//   advance O(fired log n): a level reads one line (8 children: two lines) and writes a place
//   next_wakeup O(1)
//   20 bytes a timer: an entry of 16 and a place of 4
//
// Good: for exact deadlines, whether timers fire or are cancelled. Arities 4 and 8 cost about the
//   same for timers that fire, and less than any library's heap (impls/peers); 8 arms and cancels
//   for a third less.
// Bad: for emptying a large heap: each fire sifts an entry through all levels, where a tree only
//   unlinks its first node. And at arity 2: it has twice as many levels as 4, each of which waits
//   for the one above, in a large heap for a miss. So it costs up to two and a half times as much,
//   and in two cells of docs/peers.md a library's heap costs less.
// Follows: libev (arity 4, places that begin at 3), libuv's and Go's heaps that know each timer's
//   place; the alignment of siblings is of LaMarca and Ladner 1996.
// Deviates: libev keeps the place in the timer; here a timer is an id, so its place is in an array.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <new>
#include <vector>

#include "core/joined_name.h"
#include "core/line_allocator.h"
#include "core/timer_queue.h"

namespace timerbench {

template <std::size_t Arity>
class IndexHeap {
  static_assert(std::has_single_bit(Arity) && Arity >= 2, "siblings share lines");

 public:
  static constexpr Traits traits{.name = kSettingName<"index_heap", Arity>,
                                 .summary = "implicit heap, the place of each id in an array",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "libev, libuv; LaMarca & Ladner 1996"};

  // Throws std::bad_array_new_length, which is a std::bad_alloc, if a place might be kNotPending.
  explicit IndexHeap(const QueueConfig& config) : now_(config.start) {
    if (kRoot + config.capacity > kNotPending) throw std::bad_array_new_length();
    places_.resize(config.capacity, kNotPending);
    heap_.resize(kRoot + config.capacity + Arity * Arity);
    heap_[parent(kRoot)].deadline = 0;
  }

  void schedule(TimerId id, Tick deadline) {
    assert(id < places_.size());
    const Place place = places_[id];
    if (place == kNotPending) {
      rise(end_++, {deadline, id});
    } else {
      settle(place, {deadline, id});
    }
  }

  bool cancel(TimerId id) {
    assert(id < places_.size());
    const Place place = places_[id];
    if (place == kNotPending) return false;
    places_[id] = kNotPending;
    const Entry last = take_last();
    if (place != end_) settle(place, last);
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    std::size_t fired = 0;
    for (; heap_[kRoot].deadline <= now; ++fired) {
      const Entry due = heap_[kRoot];
      places_[due.id] = kNotPending;
      const Entry last = take_last();
      if (end_ != kRoot) sink_down(kRoot, last);
      sink(due.id, due.deadline);
    }
    return fired;
  }

  Tick next_wakeup() const { return heap_[kRoot].deadline; }
  std::size_t size() const { return end_ - kRoot; }
  std::size_t queued() const { return size(); }

 private:
  using Place = std::uint32_t;
  static constexpr Place kNotPending = ~Place{0};
  static constexpr std::size_t kRoot = Arity - 1;

  struct Entry {
    Tick deadline = kNever;
    TimerId id = 0;
  };

  static std::size_t parent(std::size_t place) { return place / Arity + Arity - 2; }
  static std::size_t first_child(std::size_t place) { return Arity * (place - Arity + 2); }

  void put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    places_[entry.id] = static_cast<Place>(place);
  }

  Entry take_last() {
    const Entry last = heap_[--end_];
    heap_[end_].deadline = kNever;
    return last;
  }

  // Puts the entry into the hole, or where it must rise or sink to from there.
  void settle(std::size_t hole, const Entry& entry) {
    if (entry.deadline < heap_[parent(hole)].deadline) {
      rise(hole, entry);
    } else {
      sink_down(hole, entry);
    }
  }

  void rise(std::size_t hole, const Entry& entry) {
    std::size_t above = parent(hole);
    while (entry.deadline < heap_[above].deadline) {
      put(hole, heap_[above]);
      hole = above;
      above = parent(hole);
    }
    put(hole, entry);
  }

  void sink_down(std::size_t hole, const Entry& entry) {
    for (std::size_t child = first_child(hole); child < end_; child = first_child(hole)) {
      const std::size_t grandchild = first_child(child);
      if (grandchild < end_) {
        constexpr std::size_t kALine = kCacheLine / sizeof(Entry);
        for (std::size_t i = 0; i < Arity * Arity; i += kALine) {
          __builtin_prefetch(&heap_[grandchild + i]);
        }
      }
      const auto [deadline, least] = least_of<Arity>(child);
      if (entry.deadline <= deadline) break;
      put(hole, heap_[least]);
      hole = least;
    }
    put(hole, entry);
  }

  struct Candidate {
    Tick deadline;
    std::size_t place;
  };

  // The one of these that is due first.
  template <std::size_t Count>
  Candidate least_of(std::size_t first) const {
    if constexpr (Count == 1) {
      return {heap_[first].deadline, first};
    } else {
      return lesser(least_of<Count / 2>(first), least_of<Count / 2>(first + Count / 2));
    }
  }

  // GCC makes a jump of a conditional expression here, whatever hint it is given: see the head.
  static Candidate lesser(Candidate a, Candidate b) {
#if defined(__x86_64__)
    asm("cmpq %[a], %[b]\n\t"
        "cmovbq %[b], %[a]\n\t"
        "cmovbq %[b_place], %[a_place]"
        : [a] "+&r"(a.deadline), [a_place] "+&r"(a.place)
        : [b] "r"(b.deadline), [b_place] "r"(b.place)
        : "cc");
    return a;
#else
    return b.deadline < a.deadline ? b : a;
#endif
  }

  Tick now_;
  std::vector<Place> places_;  // by id
  std::vector<Entry, LineAllocator<Entry>> heap_;
  std::size_t end_ = kRoot;  // the place after the last entry
};
static_assert(TimerQueue<IndexHeap<4>>);

}  // namespace timerbench
