// A set of small integers that finds its next member in O(levels): which slots are occupied.
//
// Each word of a level says which words of the level below are not zero, so a search among 64^k
// bits looks at k words on its way up and at most as many down. Sets of at most 64 are one word;
// 65 536 are 8 KiB + 128 B + 8 B.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace timerbench {

template <std::size_t Bits>
class Bitmap {
  static constexpr std::size_t kWords = (Bits + 63) / 64;

 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  bool test(std::size_t i) const { return words_[i / 64] >> (i % 64) & 1; }

  void set(std::size_t i) {
    std::uint64_t& word = words_[i / 64];
    if constexpr (kWords > 1) {
      if (word == 0) occupied_.set(i / 64);
    }
    word |= std::uint64_t{1} << (i % 64);
  }

  void clear(std::size_t i) {
    words_[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    if constexpr (kWords > 1) {
      if (words_[i / 64] == 0) occupied_.clear(i / 64);
    }
  }

  std::size_t count() const {
    std::size_t count = 0;
    for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }

  // The distance from i to the next member in the same word, or 0. REQUIRES: i < Bits.
  std::size_t near(std::size_t i) const {
    const std::uint64_t above = words_[i / 64] >> (i % 64) >> 1;
    return above == 0 ? 0 : static_cast<std::size_t>(std::countr_zero(above)) + 1;
  }

  // The first member >= i, or kNone. REQUIRES: i <= Bits.
  std::size_t next(std::size_t i) const {
    if (i >= Bits) return kNone;
    std::size_t word = i / 64;
    std::uint64_t bits = words_[word] >> (i % 64);
    if (bits != 0) return i + static_cast<std::size_t>(std::countr_zero(bits));
    if constexpr (kWords > 1) {
      word = occupied_.next(word + 1);
      if (word != kNone) {
        return word * 64 + static_cast<std::size_t>(std::countr_zero(words_[word]));
      }
    }
    return kNone;
  }

  // The distance from i, going up and around the end, to the first member; kNone if the set is
  // empty. i itself is at distance 0. REQUIRES: i < Bits.
  std::size_t distance(std::size_t i) const {
    if (const std::size_t up = next(i); up != kNone) return up - i;
    const std::size_t around = next(0);
    return around == kNone ? kNone : around + Bits - i;
  }

 private:
  struct Nothing {};
  template <std::size_t Words>
  struct Summary {
    using type = Bitmap<Words>;
  };

  std::array<std::uint64_t, kWords> words_{};
  [[no_unique_address]]
  typename std::conditional_t<(kWords > 1), Summary<kWords>, std::type_identity<Nothing>>::type
      occupied_;
};

}  // namespace timerbench
