// One ring of slots with rounds: a hashed timing wheel (Varghese & Lauck 1987, scheme 6).
//
// A timer that is due at tick t waits in slot t mod Slots beside every other timer that hashes
// there. When the hand reaches the slot, those that are due fire and the others wait for a later
// round. Rounds are not counted: a timer's own deadline says whether it is due.
//
// The slots are linked lists through one array. A bitmap says which are occupied, so that empty
// slots cost nothing. A jump of more than a round visits each slot once.
//
// Invariants:
//   1. hand_ is the granule of the last advance(), or of the start.
//   2. A pending timer is in one list: overdue_ if its tick was not after hand_ when it was armed,
//      else slot tick % Slots, and then its tick is after hand_.
//   3. A slot with timers is marked in occupied_. A marked slot may be empty: a cancel leaves the
//      mark, and the hand removes it when it comes by.
//   4. overdue_ is empty after every advance() that does not go back in time.
//
// Cost:
//   schedule O(1): 4 lines (core/index_lists.h) and the bitmap; moving a timer adds the lines of
//     cancel
//   cancel O(1): the links of the timer and its two neighbours (3 lines)
//   advance O(fired + size / Slots for each tick that finds its slot occupied): 2 lines for each of
//     these
//   next_wakeup O(1): the next marked slot, whose timers may be cancelled or of a later round
//   16 bytes a timer and 8 a slot
//
// Good: for delays within one round; then a slot holds only what is due.
// Bad: when delays are many rounds long; then every tick walks timers that are not due.
// Follows: Varghese & Lauck 1987, scheme 6; Netty's HashedWheelTimer; rings that drop idle
//   connections.
// Deviates: Netty counts rounds down and rounds up by one tick more; here a deadline that is a
//   multiple of the tick fires on time.
#pragma once

#include <algorithm>
#include <bit>

#include "core/bitmap.h"
#include "core/granularity.h"
#include "core/index_lists.h"
#include "core/joined_name.h"
#include "core/timer_queue.h"

namespace timerbench {

template <std::size_t Slots>
class Ring {
  static_assert(std::has_single_bit(Slots), "a slot is found by masking");

 public:
  // Not ordered: a jump of more than a round finds later ticks in earlier slots.
  static constexpr Traits traits{.name = kSettingName<"ring", Slots>,
                                 .summary = "one ring of slots with rounds",
                                 .precision = Precision::granular,
                                 .ordered = false,
                                 .paper = "Varghese & Lauck 1987, scheme 6; Netty"};

  explicit Ring(const QueueConfig& config)
      : granularity_(config.granularity),
        now_(config.start),
        hand_(granularity_.floor(config.start)),
        lists_(config.capacity, Slots + 1),
        first_slot_(lists_.add_lists(Slots)),
        overdue_(lists_.add_list()) {}

  void schedule(TimerId id, Tick deadline) {
    if (lists_.linked(id)) {
      lists_.unlink(id);
    } else {
      ++size_;
    }
    lists_.set_deadline(id, deadline);
    const Tick tick = granularity_.ceil(deadline);
    if (tick <= hand_) {
      lists_.append(overdue_, id);
    } else if (lists_.append(list(tick % Slots), id)) {
      occupied_.set(tick % Slots);
    }
  }

  bool cancel(TimerId id) {
    if (!lists_.linked(id)) return false;
    lists_.unlink(id);
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    const std::size_t before = size_;
    const auto fire = [&](TimerId id, Tick deadline) {
      --size_;
      sink(id, deadline);
    };
    lists_.drain(overdue_, fire);

    const Tick tick = granularity_.floor(now);
    std::size_t slot = (hand_ + 1) % Slots;
    Tick ahead = std::min<Tick>(tick - hand_, Slots);
    if (ahead == 1 && !occupied_.test(slot)) ahead = 0;  // the usual step needs no search
    for (; ahead > 0; --ahead) {
      const std::size_t empty = occupied_.distance(slot);
      if (empty >= ahead) break;
      ahead -= empty;
      slot = (slot + empty) % Slots;
      lists_.drain_due(list(slot), granularity_.instant(tick), fire);
      if (lists_.empty(list(slot))) occupied_.clear(slot);
      slot = (slot + 1) % Slots;
    }
    hand_ = tick;
    return before - size_;
  }

  Tick next_wakeup() const {
    if (size_ == 0) return kNever;
    if (!lists_.empty(overdue_)) return now_;
    return granularity_.instant(hand_ + 1 + occupied_.distance((hand_ + 1) % Slots));
  }

  std::size_t size() const { return size_; }

 private:
  using List = IndexLists::List;

  List list(std::size_t slot) const { return IndexLists::nth(first_slot_, slot); }

  Granularity granularity_;
  Tick now_;
  Tick hand_;  // the granule up to which slots have been visited
  std::size_t size_ = 0;
  IndexLists lists_;
  List first_slot_;
  List overdue_;  // armed for the hand's own granule or an earlier one
  Bitmap<Slots> occupied_;
};
static_assert(TimerQueue<Ring<512>>);

}  // namespace timerbench
