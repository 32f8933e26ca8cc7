// One ring of slots with rounds: a hashed timing wheel (Varghese & Lauck 1987, scheme 6).
//
// A timer that is due at tick t waits in slot t mod Slots beside every other timer that hashes
// there. When the hand reaches the slot, those that are due fire and the rest wait for a later
// round. No round is counted: a timer's own deadline says whether its time has come. Timers are
// keyed by id, so that moving one takes it from its slot to another, as in a ring that drops idle
// connections.
//
// The slots are linked lists through one array; a bitmap says which are occupied, so that empty
// slots cost nothing. A slot emptied by cancels is found out when the hand gets there, which spares
// every cancel a look at its slot. A jump of more than a round visits each slot once.
//
//   schedule O(1): 4 lines (core/index_lists.h), the bitmap; to move a timer those of
//     cancel too
//   cancel O(1): the links of the timer and its two neighbours (3 lines)
//   advance O(fired + size / Slots for each tick that finds its slot occupied)
//   next_wakeup O(1): the next occupied slot, whose timers may be cancelled or of a later round
//   16 bytes a timer and 8 a slot
//
// Made for delays within one round: then a slot holds only what is due. Bad when delays are many
// rounds long, when every tick walks timers that are not due. Followed: Netty's HashedWheelTimer,
// idle-connection rings. Deviations: Netty rounds up by one tick more and counts rounds down; here
// deadlines are rounded up, so that a multiple of the tick is on time.
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
    if (ahead == 1 && !occupied_.test(slot)) ahead = 0;  // the usual step, spared the search
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
