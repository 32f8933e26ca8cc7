// A radix tree: small numbers under 64-bit keys, found by the greatest key that is not greater.
//
// An inner node has up to 16 children, one for each value of 4 bits of the key. Bits in which all
// keys below a node agree have no nodes of their own: a node knows which bits it tells apart, and
// the bits above these. So each inner node has two children at least, and there are fewer of them
// than keys.
//
//   find    2 lines a node, about log16 n nodes; going back to a smaller key adds as many
//   insert  2 lines a node, and at most one new node
//   erase   the same, and at most one node that is freed
//
// 84 bytes a node and 8 a key, all of it from the beginning, but the system gives it only when it
// is first used.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/index_pool.h"
#include "core/timer_queue.h"

namespace timerbench {

class RadixTree {
 public:
  using Value = std::uint32_t;

  // All values are below `values`, which is below 2^31.
  explicit RadixTree(std::size_t values)
      : keys_(std::make_unique_for_overwrite<Tick[]>(values)),
        nodes_(std::make_unique_for_overwrite<Node[]>(values)),
        used_nodes_(values) {}

  // The key under which the value is in the tree.
  Tick key(Value value) const { return keys_[value]; }

  // The value of the greatest key that is not greater. REQUIRES: there is one.
  Value find(Tick key) const {
    Ref at = root_;
    Ref smaller = kNothing;  // the keys below it are the greatest that are known to be smaller
    while (!is_leaf(at)) {
      const Node& node = nodes_[at];
      const Tick above = bits_above(key, node.shift);
      if (above != node.above) return greatest(above > node.above ? at : smaller);
      const unsigned digit = digit_of(key, node.shift);
      const unsigned less = node.used & ((1U << digit) - 1);
      if (less != 0) smaller = node.children[last(less)];
      if (!has(node, digit)) return greatest(smaller);
      at = node.children[digit];
    }
    return keys_[at & ~kLeaf] <= key ? at & ~kLeaf : greatest(smaller);
  }

  // REQUIRES: neither the key nor the value is in the tree.
  void insert(Tick key, Value value) {
    keys_[value] = key;
    Ref* link = &root_;
    while (*link != kNothing) {
      Tick other;
      if (is_leaf(*link)) {
        other = keys_[*link & ~kLeaf];
      } else {
        Node& node = nodes_[*link];
        other = node.above;
        if (bits_above(key, node.shift) == other) {
          const unsigned digit = digit_of(key, node.shift);
          link = &node.children[digit];
          if (has(node, digit)) continue;
          node.used |= 1U << digit;
          break;
        }
      }
      link = add_node(*link, other, key);
      break;
    }
    *link = value | kLeaf;
  }

  // REQUIRES: the key is in the tree.
  void erase(Tick key) {
    Ref* above = nullptr;
    Ref* link = &root_;
    while (!is_leaf(*link)) {
      above = link;
      Node& node = nodes_[*link];
      link = &node.children[digit_of(key, node.shift)];
    }
    if (above == nullptr) {
      root_ = kNothing;
      return;
    }
    Node& node = nodes_[*above];
    node.used &= ~(1U << digit_of(key, node.shift));
    if (!std::has_single_bit(node.used)) return;
    used_nodes_.give_back(*above);
    *above = node.children[last(node.used)];
  }

  std::size_t nodes() const { return used_nodes_.in_use(); }

 private:
  using Ref = std::uint32_t;  // a node's index, or a value with the bit kLeaf
  static constexpr Ref kLeaf = Ref{1} << 31;
  static constexpr Ref kNothing = ~Ref{0};
  static constexpr unsigned kBits = 4;  // of a digit

  struct Node {
    Tick above;  // the bits of all its keys that are above the digit
    std::uint32_t shift;
    std::uint32_t used;  // the digits that have a child, a bit for each
    std::array<Ref, 1U << kBits> children;
  };

  static bool is_leaf(Ref ref) { return (ref & kLeaf) != 0; }
  static bool has(const Node& node, unsigned digit) { return (node.used >> digit & 1) != 0; }
  static unsigned last(unsigned digits) {
    return static_cast<unsigned>(std::bit_width(digits)) - 1;
  }

  static Tick bits_above(Tick key, unsigned shift) {
    return key >> shift >> kBits << kBits << shift;
  }

  static unsigned digit_of(Tick key, unsigned shift) {
    return static_cast<unsigned>(key >> shift) % (1U << kBits);
  }

  // The value of the greatest key below. REQUIRES: at is not kNothing.
  Value greatest(Ref at) const {
    while (!is_leaf(at)) at = nodes_[at].children[last(nodes_[at].used)];
    return at & ~kLeaf;
  }

  // Puts a node above what is at the link, where `other` and the key part. Returns the link for the
  // key.
  Ref* add_node(Ref& link, Tick other, Tick key) {
    const auto shift = static_cast<unsigned>(std::bit_width(other ^ key) - 1) / kBits * kBits;
    const Ref index = used_nodes_.take();
    Node& node = nodes_[index];
    node.above = bits_above(key, shift);
    node.shift = shift;
    node.used = 1U << digit_of(other, shift) | 1U << digit_of(key, shift);
    node.children[digit_of(other, shift)] = link;
    link = index;
    return &node.children[digit_of(key, shift)];
  }

  Ref root_ = kNothing;
  std::unique_ptr<Tick[]> keys_;  // by value
  std::unique_ptr<Node[]> nodes_;
  IndexPool used_nodes_;
};

}  // namespace timerbench
