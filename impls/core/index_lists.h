// Circular doubly linked lists over one array, linked by 32-bit indices: the slots of a wheel.
//
// Nodes 0 .. ids - 1 are the timers; the list heads follow them in the same array, so that unlinking
// needs no list and no branch. A node is 16 bytes, four to a cache line.
//
//   append  3 lines: the node, the head, the old tail       unlink  3 lines: the node, its neighbours
//
// Appending in the order of the ids and into few lists touches one new line in four appends; what
// costs is unlinking at random, and walking a list, which is a chain of dependent loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

class IndexLists {
 public:
  // A list, named by the index of its head.
  enum class List : std::uint32_t {};
  static constexpr List kNoList{~std::uint32_t{0}};

  // REQUIRES: ids + max_lists < 2^32 - 1. add_list() may be called max_lists times without moving
  // the array.
  IndexLists(TimerId ids, std::size_t max_lists) {
    nodes_.reserve(ids + max_lists);
    nodes_.resize(ids, Node{kUnlinked, kUnlinked, 0});
  }

  // A new, empty list.
  List add_list() {
    const auto head = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({head, head, 0});
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

  bool linked(TimerId id) const { return nodes_[id].next != kUnlinked; }

  Tick deadline(TimerId id) const { return nodes_[id].deadline; }

  bool empty(List list) const { return head(list).next == index(list); }

  // Puts a node that is in no list at the end of one. Returns whether that list was empty.
  bool append(List list, TimerId id, Tick deadline) {
    Node& end = head(list);
    const std::uint32_t tail = end.prev;
    nodes_[id] = {index(list), tail, deadline};
    nodes_[tail].next = id;
    end.prev = id;
    return tail == index(list);
  }

  // Returns the list that this left empty, or kNoList. REQUIRES: linked(id).
  List unlink(TimerId id) {
    Node& node = nodes_[id];
    const std::uint32_t next = node.next;
    const std::uint32_t prev = node.prev;
    nodes_[next].prev = prev;
    nodes_[prev].next = next;
    node.next = kUnlinked;
    return next == prev ? List{next} : kNoList;  // only a head can be both neighbours
  }

  // Empties the list and calls visit(id, deadline) for each node in order; the nodes are in no list
  // by then and may be appended to any.
  template <class Visit>
  void drain(List list, Visit&& visit) {
    Node& end = head(list);
    std::uint32_t id = end.next;
    end = {index(list), index(list), 0};
    while (id != index(list)) {
      Node& node = nodes_[id];
      const TimerId current = id;
      id = node.next;
      node.next = kUnlinked;
      visit(current, node.deadline);
    }
  }

  // Takes out of the list the nodes that are due by `last` and calls visit(id, deadline) for each.
  template <class Visit>
  void drain_due(List list, Tick last, Visit&& visit) {
    for (std::uint32_t id = head(list).next; id != index(list);) {
      const TimerId current = id;
      const Tick deadline = nodes_[id].deadline;
      id = nodes_[id].next;
      if (deadline > last) continue;
      unlink(current);
      visit(current, deadline);
    }
  }

 private:
  static constexpr std::uint32_t kUnlinked = ~std::uint32_t{0};

  struct Node {
    std::uint32_t next;
    std::uint32_t prev;
    Tick deadline;
  };

  static std::uint32_t index(List list) { return static_cast<std::uint32_t>(list); }
  Node& head(List list) { return nodes_[index(list)]; }
  const Node& head(List list) const { return nodes_[index(list)]; }

  std::vector<Node> nodes_;
};

}  // namespace timerbench
