// Levels of buckets of granules: to which bucket a granule belongs, and which buckets are in use.
//
// Level n has buckets of Slots^n granules, for the block of Slots buckets in which the hand is and
// for the next block. A granule belongs to the lowest level that reaches it.
//
// A ring has one level, of Slots buckets. What is out of its reach belongs to the bucket that is a
// number of rounds before its granule.
//
// Invariants:
//   1. A bucket of level n is less than 2 * Slots buckets ahead of the level's hand, so that a slot
//      stands for one bucket, and more than one if n > 0: nothing new belongs to the bucket that
//      follows the hand.
//   2. next() is the first granule of the first queued bucket, or kNever.
//
// Cost:
//   bucket_of  a comparison a level, and no branch tells level 0 from level 1
//   find_next  a word or two of the bitmap of level 0; if nothing is queued near, one of each level
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "core/bitmap.h"
#include "core/timer_queue.h"

namespace timerbench {

template <std::size_t Slots, bool kIsRing = false>
class BucketLevels {
  static_assert(std::has_single_bit(Slots) && Slots >= 4, "slots by shifting, at most 32 levels");

  static constexpr unsigned kBits = std::countr_zero(Slots);
  static constexpr unsigned kLevels = kIsRing ? 1 : (64 + kBits - 1) / kBits;

 public:
  static constexpr std::size_t kBuckets = kIsRing ? Slots : 2 * Slots;  // of a level
  static constexpr std::size_t kAllBuckets = kLevels * kBuckets;
  static constexpr std::size_t kNoSlot = Bitmap<kBuckets>::kNone;

  // The granules of a bucket.
  static Tick width(unsigned level) { return Tick{1} << (level * kBits); }

  // A bucket's level, and its number there: how many buckets begin before it.
  struct Bucket {
    unsigned level;
    Tick position;

    Tick begin() const { return position << (level * kBits); }
    Tick last() const { return begin() + (width(level) - 1); }
    std::size_t slot() const { return position % kBuckets; }
    std::size_t index() const { return level * kBuckets + slot(); }  // among all buckets
  };

  explicit BucketLevels(Tick hand) : hand_(hand) {}

  Tick hand() const { return hand_; }
  Tick next() const { return next_; }
  unsigned count() const { return count_; }  // levels in use so far

  // Of buckets.
  std::size_t queued() const {
    std::size_t queued = 0;
    for (unsigned level = 0; level < count_; ++level) queued += queued_[level].count();
    return queued;
  }

  // The bucket of this level in which the hand is, and the one after it.
  Bucket at_hand(unsigned level) const { return {level, hand(level)}; }
  Bucket after_hand(unsigned level) const { return {level, hand(level) + 1}; }

  // The bucket for which a slot stands.
  Bucket in_slot(unsigned level, std::size_t slot) const {
    return {level, hand(level) + (slot - hand(level)) % kBuckets};
  }

  // REQUIRES: granule >= hand().
  Bucket bucket_of(Tick granule) const {
    if constexpr (kIsRing) {
      const Tick ahead = granule - hand_;
      const Tick rest = ahead % kBuckets;  // 0 is the hand's slot: one bucket earlier then
      return {0, ahead < kBuckets ? granule : hand_ + (rest == 0 ? kBuckets - 1 : rest)};
    }
    // No branch tells level 0 from the others: where timers have moved, it is foreseen badly.
    const unsigned beyond = granule - hand_ >= kBuckets ? 1 : 0;
    Bucket bucket{.level = beyond, .position = granule >> (beyond * kBits)};
    for (Tick hand = this->hand(beyond); bucket.position - hand >= kBuckets; hand >>= kBits) {
      bucket.position >>= kBits;
      ++bucket.level;
    }
    return bucket;
  }

  bool is_queued(Bucket bucket) const { return queued_[bucket.level].test(bucket.slot()); }

  void enqueue(Bucket bucket) {
    count_ = std::max(count_, bucket.level + 1);
    queued_[bucket.level].set(bucket.slot());
    next_ = std::min(next_, bucket.begin());
  }

  // next() may be wrong until find_next().
  void dequeue(Bucket bucket) { queued_[bucket.level].clear(bucket.slot()); }

  // The first slot of a queued bucket, from this one on; or kNoSlot.
  std::size_t next_slot(unsigned level, std::size_t slot) const {
    return queued_[level].next(slot);
  }

  // How many upper levels have a bucket that begins at the hand. They are the lowest ones in use.
  unsigned begun() const { return std::min<unsigned>(std::countr_zero(hand_) / kBits, count_ - 1); }

  // The first granule of the next block of Slots buckets on level 0.
  Tick end_of_block() const { return (hand_ | (Slots - 1)) + 1; }

  // REQUIRES: granule >= hand(), and no queued bucket begins before it.
  void move_hand(Tick granule) { hand_ = granule; }

  // Of a ring: past its buckets, which are empty now.
  void pass_rounds(Tick granule) {
    hand_ = granule;
    next_ = kNever;
  }

  // Finds next() anew, after buckets were dequeued. REQUIRES: none is queued at the hand.
  void find_next() {
    const std::size_t near = queued_[0].near(hand_ % kBuckets);
    // Within a word nothing of an upper level begins earlier, unless blocks are shorter than words.
    if (near != 0 && (Slots >= 64 || near < Slots - hand_ % Slots)) {
      next_ = hand_ + near;
    } else {
      find_far_next();
    }
  }

 private:
  [[gnu::noinline]] void find_far_next() {
    next_ = kNever;
    for (unsigned level = 0; level < count_; ++level) {
      const Bucket first = after_hand(level);
      if (next_ <= first.begin()) break;  // nothing from this level on begins earlier
      const std::size_t empty = queued_[level].distance(first.slot());
      if (empty == kNoSlot) continue;
      next_ = std::min(next_, Bucket{level, first.position + empty}.begin());
    }
  }

  Tick hand(unsigned level) const { return hand_ >> (level * kBits); }

  Tick hand_;
  Tick next_ = kNever;
  unsigned count_ = 1;
  std::array<Bitmap<kBuckets>, kLevels> queued_;
};

}  // namespace timerbench
