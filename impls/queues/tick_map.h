// A hash map from tick to the timers due then: an array with a slot for each tick, made finite.
//
// There is one list for each tick that has timers. advance() looks up every tick that has passed.
// When more ticks have passed than there are lists, it goes through the lists instead, so that a
// jump costs what is pending and not the distance.
//
// Invariants:
//   1. A pending timer is in the list of its deadline, rounded up to a tick.
//   2. slots_ has an entry for a tick exactly if the tick's list has timers. All other lists are
//      empty and in free_.
//   3. No tick before unseen_ has timers.
//
// Cost:
//   schedule O(1) amortised: a probe of the map and 4 lines (core/index_lists.h); moving a timer
//     adds the lines of cancel
//   cancel O(1): the links of the timer and its two neighbours (3 lines); the last timer of a tick
//     also erases the tick from the map
//   advance O(fired + ticks passed); O(fired + lists + d log d) for d due lists, when more ticks
//     have passed than there are lists
//   next_wakeup O(1): the first tick not yet looked at, which may have no timers
//   24 bytes a timer and about 50 a tick; map nodes come from a pool, so that nothing is allocated
//     after warm-up
//
// Good: for dense deadlines and steady ticks.
// Bad: for sparse deadlines, where each timer needs a map node of its own and most ticks find
//   nothing; for past deadlines, which make advance() look back that far.
// Follows: the array with a slot for each tick.
#pragma once

#include <algorithm>
#include <memory_resource>
#include <unordered_map>
#include <vector>

#include "core/granularity.h"
#include "core/index_lists.h"
#include "core/timer_queue.h"

namespace timerbench {

class TickMap {
 public:
  static constexpr Traits traits{.name = "tick_map",
                                 .summary = "hash map from tick to the timers due then",
                                 .precision = Precision::granular,
                                 .ordered = true,
                                 .paper = "array of ticks"};

  explicit TickMap(const QueueConfig& config)
      : granularity_(config.granularity),
        now_(config.start),
        unseen_(granularity_.floor(config.start) + 1),
        lists_(config.capacity, config.capacity) {}

  void schedule(TimerId id, Tick deadline) {
    cancel(id);
    const Tick tick = granularity_.ceil(deadline);
    auto [slot, is_new] = slots_.try_emplace(tick);
    if (is_new) slot->second = take_list();
    lists_.set_deadline(id, deadline);
    lists_.append(slot->second, id);
    unseen_ = std::min(unseen_, tick);
    ++size_;
  }

  bool cancel(TimerId id) {
    if (!lists_.linked(id)) return false;
    if (const List emptied = lists_.unlink(id); emptied != IndexLists::kNoList) {
      slots_.erase(granularity_.ceil(lists_.deadline(id)));
      free_.push_back(emptied);
    }
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    const Tick tick = granularity_.floor(now);
    const std::size_t before = size_;
    if (tick >= unseen_) {
      if (tick - unseen_ < slots_.size()) {
        for (; unseen_ <= tick; ++unseen_) {
          if (const auto slot = slots_.find(unseen_); slot != slots_.end()) fire(slot, sink);
        }
      } else {
        find_due(tick);
        for (const Tick due : due_) fire(slots_.find(due), sink);
      }
      unseen_ = tick + 1;
    }
    return before - size_;
  }

  // A bound: most ticks may have no timers.
  Tick next_wakeup() const { return size_ == 0 ? kNever : granularity_.instant(unseen_); }
  std::size_t size() const { return size_; }

 private:
  using List = IndexLists::List;
  using Slots = std::pmr::unordered_map<Tick, List>;

  template <class Sink>
  void fire(Slots::iterator slot, Sink& sink) {
    lists_.drain(slot->second, [&](TimerId id, Tick deadline) {
      --size_;
      sink(id, deadline);
    });
    free_.push_back(slot->second);
    slots_.erase(slot);
  }

  // Fills due_ with the ticks up to `last` that have timers, in order.
  void find_due(Tick last) {
    due_.clear();
    for (const auto& [tick, list] : slots_) {
      if (tick <= last) due_.push_back(tick);
    }
    std::sort(due_.begin(), due_.end());
  }

  List take_list() {
    if (free_.empty()) return lists_.add_list();
    const List list = free_.back();
    free_.pop_back();
    return list;
  }

  Granularity granularity_;
  Tick now_;
  Tick unseen_;  // no tick before it has timers
  std::size_t size_ = 0;
  IndexLists lists_;
  std::vector<List> free_;
  std::vector<Tick> due_;  // scratch of advance()
  std::pmr::unsynchronized_pool_resource pool_;
  Slots slots_{&pool_};
};
static_assert(TimerQueue<TickMap>);

}  // namespace timerbench
