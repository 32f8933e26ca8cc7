// A hash table from ticks to 32-bit numbers: which list has the timers of this tick, of this delay.
//
// The entries lie side by side, so that going through them costs what there is. The table beside
// them has an index for each entry, at the place that the key's hash names or the next free one. It
// is at most half full and grows by doubling. Erasing moves the last entry into the gap, and closes
// the gap in the table, so that no marks of what was there stay behind.
//
//   find, erase   2 lines, of the table and of the entry
//   insert        the same, O(1) amortised
//   24 to 32 bytes an entry; nothing is given back
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

class TickTable {
 public:
  struct Entry {
    Tick key;
    std::uint32_t value;
  };

  std::size_t size() const { return entries_.size(); }

  // In no order. Valid until an entry is inserted or erased.
  std::span<const Entry> entries() const { return entries_; }

  // Valid until an entry is inserted or erased; nullptr if the key is not in the table.
  const Entry* find(Tick key) const {
    const std::uint32_t index = table_[place_of(key)];
    return index == kFree ? nullptr : &entries_[index];
  }

  // Changes nothing if it throws std::bad_alloc. REQUIRES: the key is not in the table.
  void insert(Tick key, std::uint32_t value) {
    if (2 * (entries_.size() + 1) > table_.size()) grow();
    entries_.push_back({key, value});
    table_[place_of(key)] = static_cast<std::uint32_t>(entries_.size() - 1);
  }

  // REQUIRES: the key is in the table.
  void erase(Tick key) {
    const std::size_t place = place_of(key);
    const std::uint32_t index = table_[place];
    table_[place_of(entries_.back().key)] = index;
    entries_[index] = entries_.back();
    close(place);
    entries_.pop_back();
  }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};
  static constexpr std::size_t kLeast = 16;

  std::size_t next(std::size_t place) const { return (place + 1) & (table_.size() - 1); }

  // Multiplies by the golden ratio, so that neighbours and multiples spread (Knuth, volume 3, 6.4).
  std::size_t home(Tick key) const { return key * 0x9e3779b97f4a7c15 >> shift_; }

  // Where the key's index is, or else would be.
  std::size_t place_of(Tick key) const {
    std::size_t place = home(key);
    while (table_[place] != kFree && entries_[table_[place]].key != key) place = next(place);
    return place;
  }

  // Frees the place. An index behind it that could not be at its home moves up.
  void close(std::size_t gap) {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t at = next(gap); table_[at] != kFree; at = next(at)) {
      const std::size_t from_home = (at - home(entries_[table_[at]].key)) & mask;
      if (from_home < ((at - gap) & mask)) continue;
      table_[gap] = table_[at];
      gap = at;
    }
    table_[gap] = kFree;
  }

  void grow() {
    table_ = std::vector<std::uint32_t>(2 * table_.size(), kFree);
    --shift_;
    for (std::uint32_t i = 0; i < entries_.size(); ++i) table_[place_of(entries_[i].key)] = i;
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> table_ = std::vector<std::uint32_t>(kLeast, kFree);
  int shift_ = 64 - std::countr_zero(kLeast);
};

}  // namespace timerbench
