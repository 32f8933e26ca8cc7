// Circular doubly linked lists over arrays, linked by 32-bit indices: the slots of a wheel.
//
// Links 0 .. ids - 1 are the timers'; the list heads follow them in the same array, so that
// unlinking needs no list and no branch. They are 8 bytes, eight to a cache line; the deadlines lie
// in an array of their own, for unlinking does not look at them.
//
//   append        3 lines: the links, the head, the old tail
//   set_deadline  1 line
//   unlink        3 lines: the links, those of both neighbours
//   drain         2 lines a timer: the links, the deadline
//   sort          2 lines a timer, log n times
//   insert_sorted 2 lines for each timer that is due later, and those of append
//
// Arming in the order of the ids and into few lists touches one new line in four timers. Unlinking
// at random is what costs, and walking a list, which is a chain of dependent loads. A list is
// therefore walked from both ends at once.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

class IndexLists {
 public:
  // A list, named by the index of its head.
  enum class List : std::uint32_t {};
  static constexpr List kNoList{~std::uint32_t{0}};

  // Throws std::bad_array_new_length, which is a std::bad_alloc, if there are more links than
  // indices. add_list() may be called max_lists times without moving the array.
  IndexLists(TimerId ids, std::size_t max_lists) {
    if (ids + max_lists >= kUnlinked) throw std::bad_array_new_length();
    deadlines_.resize(ids);
    links_.reserve(ids + max_lists);
    links_.resize(ids, {kUnlinked, kUnlinked});
  }

  // A new, empty list.
  List add_list() {
    const auto head = static_cast<std::uint32_t>(links_.size());
    links_.push_back({head, head});
    return List{head};
  }

  // `count` new lists; list i of them is List{first + i}.
  List add_lists(std::size_t count) {
    const List first = add_list();
    for (std::size_t i = 1; i < count; ++i) add_list();
    return first;
  }

  static List nth(List first, std::size_t n) {
    return List{static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(n)};
  }

  // The n for which nth(first, n) is the list.
  static std::size_t distance(List first, List list) { return index(list) - index(first); }

  bool linked(TimerId id) const {
    assert(id < deadlines_.size());
    return links_[id].next != kUnlinked;
  }

  Tick deadline(TimerId id) const { return deadlines_[id]; }

  bool empty(List list) const { return head(list).next == index(list); }

  // Whether a list has more than so many timers; looks at no more of them than that.
  bool more_than(List list, std::size_t count) const {
    std::uint32_t id = head(list).next;
    for (; id != index(list) && count > 0; --count) id = links_[id].next;
    return id != index(list);
  }

  // The timer that was appended first.
  std::optional<TimerId> first(List list) const {
    return empty(list) ? std::nullopt : std::optional<TimerId>(head(list).next);
  }

  // Keeps the deadline until it is set again, whatever list the timer is in.
  void set_deadline(TimerId id, Tick deadline) { deadlines_[id] = deadline; }

  // Puts a timer that is in no list at the end of one. Returns whether that list was empty.
  bool append(List list, TimerId id) {
    Links& end = head(list);
    const std::uint32_t tail = end.prev;
    links_[id] = {index(list), tail};
    links_[tail].next = id;
    end.prev = id;
    return tail == index(list);
  }

  // Puts a timer that is in no list into one that is in the order of deadlines, behind those that
  // are not due later; the place is sought from the end. Does nothing and returns false if more
  // than `most` timers are due later.
  bool insert_sorted(List list, TimerId id, std::size_t most = ~std::size_t{0}) {
    std::uint32_t before = head(list).prev;
    for (; before != index(list) && deadlines_[before] > deadlines_[id]; --most) {
      if (most == 0) return false;
      before = links_[before].prev;
    }
    const std::uint32_t behind = std::exchange(links_[before].next, id);
    links_[behind].prev = id;
    links_[id] = {behind, before};
    return true;
  }

  // Puts the timers of a list in the order of deadlines: a merge sort, stable and without memory.
  void sort(List list) {
    const std::uint32_t end = index(list);
    std::array<std::uint32_t, 32> runs;  // run i is of 2^i timers, if there is one
    runs.fill(end);
    for (std::uint32_t id = head(list).next; id != end;) {
      std::uint32_t run = id;
      id = std::exchange(links_[id].next, end);
      std::size_t i = 0;
      for (; runs[i] != end; ++i) run = merge(std::exchange(runs[i], end), run, end);
      runs[i] = run;
    }
    std::uint32_t sorted = end;
    for (const std::uint32_t run : runs) sorted = merge(run, sorted, end);
    links_[end].next = sorted;
    for (std::uint32_t before = end, id = sorted;; before = id, id = links_[id].next) {
      links_[id].prev = before;
      if (id == end) break;
    }
  }

  // Puts all timers of one list at the end of another.
  void splice(List from, List to) {
    if (empty(from)) return;
    const auto [first, last] = head(from);
    head(from) = {index(from), index(from)};
    const std::uint32_t tail = std::exchange(head(to).prev, last);
    links_[tail].next = first;
    links_[first].prev = tail;
    links_[last].next = index(to);
  }

  // Returns the list that this left empty, or kNoList. REQUIRES: linked(id).
  List unlink(TimerId id) {
    const auto [next, prev] = links_[id];
    links_[next].prev = prev;
    links_[prev].next = next;
    links_[id].next = kUnlinked;
    return next == prev ? List{next} : kNoList;  // only a head can be both neighbours
  }

  // Empties the list and calls visit(id, deadline) for each timer in order; they are in no list by
  // then and may be appended to any.
  template <class Visit>
  void drain(List list, Visit&& visit) {
    auto [id, far] = head(list);
    head(list) = {index(list), index(list)};
    while (id != index(list)) {
      const TimerId current = id;
      far = fetch_before(far);
      id = std::exchange(links_[current].next, kUnlinked);
      visit(current, deadlines_[current]);
    }
  }

  // The same in the order of deadlines.
  template <class Visit>
  void drain_in_order(List list, Visit&& visit) {
    sort(list);
    drain(list, visit);
  }

  // Takes out of the list the timers that are due by `last` and calls visit(id, deadline) for each.
  template <class Visit>
  void drain_due(List list, Tick last, Visit&& visit) {
    auto [id, far] = head(list);
    while (id != index(list)) {
      const TimerId current = id;
      far = fetch_before(far);
      const Tick deadline = deadlines_[id];
      id = links_[id].next;
      if (deadline > last) continue;
      unlink(current);
      visit(current, deadline);
    }
  }

 private:
  static constexpr std::uint32_t kUnlinked = ~std::uint32_t{0};  // in `next`; see fetch_before()

  struct Links {
    std::uint32_t next;
    std::uint32_t prev;
  };

  // A step of a second walk, which comes from the other end of the list and only prefetches: the
  // first walk then finds the far half in the cache, and two chains of misses run at a time. After
  // the two have met, the second walk follows the links of any list and prefetches for nothing. It
  // never leaves the array: `prev` of a timer that was ever linked is an index.
  std::uint32_t fetch_before(std::uint32_t at) const {
    at = links_[at].prev;
    __builtin_prefetch(&links_[at]);
    return at;
  }

  // Merges two chains that are linked by `next` and sorted; returns the first of the merged one. Of
  // equal deadlines, those of a come first.
  std::uint32_t merge(std::uint32_t a, std::uint32_t b, std::uint32_t end) {
    std::uint32_t first = end;
    std::uint32_t* tail = &first;
    while (a != end && b != end) {
      std::uint32_t& least = deadlines_[b] < deadlines_[a] ? b : a;
      *tail = least;
      tail = &links_[least].next;
      least = *tail;
    }
    *tail = a != end ? a : b;
    return first;
  }

  static std::uint32_t index(List list) { return static_cast<std::uint32_t>(list); }
  Links& head(List list) { return links_[index(list)]; }
  const Links& head(List list) const { return links_[index(list)]; }

  std::vector<Links> links_;
  std::vector<Tick> deadlines_;
};

}  // namespace timerbench
