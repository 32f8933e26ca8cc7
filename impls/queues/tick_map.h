// A hash map from tick to the timers due then: an array with a slot for each tick, made finite.
//
// There is one list for each tick that has timers. advance() looks up every tick that has passed.
// When more ticks have passed than there are lists, it goes through the lists instead, so that a
// jump costs what is pending and not the distance.
//
// Invariants:
//   1. A pending timer is in the list of its deadline, rounded up to a tick.
//   2. ticks_ has an entry for a tick exactly if the tick's list has timers. All other lists are
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
//   24 bytes a timer and about 30 a tick; nothing is given back, so that nothing is allocated after
//     warm-up
//
// Good: for dense deadlines and steady ticks.
// Bad: for sparse deadlines, where each timer needs an entry of the map and most ticks find
//   nothing; for past deadlines, which make advance() look back that far.
// Follows: the array with a slot for each tick.
// Deviates: only ticks that have timers take memory. For that, each access probes a hash map.
#pragma once

#include <algorithm>
#include <vector>

#include "core/granularity.h"
#include "core/index_lists.h"
#include "core/tick_table.h"
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
        lists_(config.capacity, config.capacity + std::size_t{1}) {}

  void schedule(TimerId id, Tick deadline) {
    const Tick tick = granularity_.ceil(deadline);
    const List list = list_of(tick);
    if (lists_.linked(id)) {
      if (const List emptied = lists_.unlink(id); emptied != list) retire(emptied, id);
      --size_;
    }
    lists_.set_deadline(id, deadline);
    lists_.append(list, id);
    unseen_ = std::min(unseen_, tick);
    ++size_;
  }

  bool cancel(TimerId id) {
    if (!lists_.linked(id)) return false;
    retire(lists_.unlink(id), id);
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
      if (tick - unseen_ < ticks_.size()) {
        for (; unseen_ <= tick; ++unseen_) {
          if (const auto* entry = ticks_.find(unseen_)) fire(*entry, sink);
        }
      } else {
        find_due(tick);
        for (const Tick due : due_) fire(*ticks_.find(due), sink);
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

  template <class Sink>
  void fire(TickTable::Entry entry, Sink& sink) {
    const List list{entry.value};
    lists_.drain(list, [&](TimerId id, Tick deadline) {
      --size_;
      sink(id, deadline);
    });
    free_.push_back(list);
    ticks_.erase(entry.key);
  }

  // Frees the list that this timer has left empty, or kNoList.
  void retire(List emptied, TimerId id) {
    if (emptied == IndexLists::kNoList) return;
    ticks_.erase(granularity_.ceil(lists_.deadline(id)));
    free_.push_back(emptied);
  }

  // Fills due_ with the ticks up to `last` that have timers, in order.
  void find_due(Tick last) {
    due_.clear();
    for (const auto& [tick, list] : ticks_.entries()) {
      if (tick <= last) due_.push_back(tick);
    }
    std::sort(due_.begin(), due_.end());
  }

  // Changes nothing that matters if it throws std::bad_alloc.
  List list_of(Tick tick) {
    if (const auto* entry = ticks_.find(tick)) return List{entry->value};
    if (free_.empty()) {
      // For all lists, so that freeing one needs no memory.
      if (free_.capacity() <= ticks_.size()) free_.reserve(2 * ticks_.size() + 1);
      free_.push_back(lists_.add_list());
    }
    ticks_.insert(tick, static_cast<std::uint32_t>(free_.back()));
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
  TickTable ticks_;
  std::vector<Tick> due_;  // scratch of advance()
};
static_assert(TimerQueue<TickMap>);

}  // namespace timerbench
