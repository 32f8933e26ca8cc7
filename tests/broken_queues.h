// Deliberately broken timer queues, to prove that the checks bite.
//
// Small sound queues, such as a hierarchical wheel, a ring with rounds, a heap, one with lazy
// deletion, a wheel, a ring and a calendar of logs, are each written once. A bug is a deviation of
// a line or two, `if constexpr (kBug == ...)` or a condition that names it. None of them is
// undefined behaviour, and none hangs: a broken queue gives wrong answers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <ranges>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/granularity.h"
#include "core/joined_name.h"
#include "core/timer_queue.h"
#include "trace/model.h"

namespace timerbench {

enum class Bug {
  none,
  // BrokenWheel
  early_on_long_delays,
  lost_in_cascade,
  cancel_misses_cascaded,
  queued_key_mutated,
  early_by_a_granule,
  late_by_a_granule,
  wakeup_misses_past,
  wakeup_while_empty,
  wakeup_looks_one_level_up,
  size_counts_moves,
  early_by_two_granules,
  // BrokenRing
  ignores_rounds,
  late_by_a_round,
  stops_at_future_round,
  visits_only_last_slot,
  counts_one_round,
  past_deadline_lost,
  double_fire_after_move,
  cancel_leaves_old_entry,
  cancel_true_twice,
  cancel_true_after_fire,
  falsely_ordered,
  time_runs_backwards,
  walks_every_tick,
  walks_when_32_bits_are_few,
  elapsed_in_31_bits,
  elapsed_in_32_bits,
  elapsed_in_48_bits,
  fires_twice_after_one_jump,
  // BrokenHeap
  removal_sifts_only_down,
  signed_deadline,
  deadline_in_32_bits,
  deadline_in_53_bits,
  stale_next_wakeup,
  ignores_earlier_move,
  one_fire_an_advance,
  reports_now_as_deadline,
  fires_twice_in_one_advance,
  advance_counts_too_many,
  cancel_denies,
  next_wakeup_stuck,
  next_wakeup_walks,
  cancel_true_after_fire_beyond_16_bits,
  cancel_keeps_some_of_many,
  loses_one_of_a_herd,
  // BrokenLazyHeap
  arming_in_8_bits,
  arming_in_16_bits,
  id_in_16_bits,
  id_in_24_bits,
  loses_one_arming,
  // BrokenLogWheel
  forgets_the_look,
  copy_fires_twice,
  reclaims_a_waiting_entry,
  cascade_ahead_misses_late_entries,
  cascade_ends_after_a_part,
  sweep_drops_a_waiting_entry,
  // BrokenLogRing
  fires_at_the_first_look,
  lost_in_a_jump,
  // BrokenLogCalendar
  agenda_unsorted,
  agenda_fires_the_dead,
  arrival_misses_the_opened_bucket,
  overdue_in_order_of_arming,
  idles_past_a_nearer_timer,
};

struct BugText {
  std::string_view name;
  std::string_view summary;
};

constexpr BugText describe(Bug bug) {
  switch (bug) {
    case Bug::none: return {"sound", "keeps the contract"};
    case Bug::early_on_long_delays:
      return {"broken_early_on_long_delays", "fires an upper bucket whole when it opens"};
    case Bug::lost_in_cascade:
      return {"broken_lost_in_cascade", "drops what is due the moment its upper bucket opens"};
    case Bug::cancel_misses_cascaded:
      return {"broken_cancel_misses_cascaded", "looks for a cascaded timer in its first bucket"};
    case Bug::queued_key_mutated:
      return {"broken_queued_key_mutated", "a queued bucket's key follows the last timer added"};
    case Bug::early_by_a_granule:
      return {"broken_early_by_a_granule", "rounds down, declared granular"};
    case Bug::late_by_a_granule:
      return {"broken_late_by_a_granule", "rounds a multiple of the granularity up as well"};
    case Bug::wakeup_misses_past:
      return {"broken_wakeup_misses_past", "next_wakeup() does not see pending past deadlines"};
    case Bug::wakeup_while_empty:
      return {"broken_wakeup_while_empty", "next_wakeup() sees buckets that cancels have emptied"};
    case Bug::wakeup_looks_one_level_up:
      return {"broken_wakeup_looks_one_level_up",
              "next_wakeup() misses a bucket two levels up, which opens where both wrap"};
    case Bug::size_counts_moves:
      return {"broken_size_counts_moves", "size() counts a moved timer twice"};
    case Bug::early_by_two_granules:
      return {"broken_early_by_two_granules", "rounds down by one granule more, declared early"};
    case Bug::ignores_rounds:
      return {"broken_ignores_rounds", "fires on the first visit of the slot"};
    case Bug::late_by_a_round:
      return {"broken_late_by_a_round", "a multiple of the ring waits a round too many"};
    case Bug::stops_at_future_round:
      return {"broken_stops_at_future_round", "leaves a slot at the first timer of a later round"};
    case Bug::visits_only_last_slot:
      return {"broken_visits_only_last_slot", "a late advance() skips the slots between"};
    case Bug::counts_one_round:
      return {"broken_counts_one_round", "a gap of many rounds counts as one"};
    case Bug::past_deadline_lost:
      return {"broken_past_deadline_lost", "the rounds to wait for a past deadline wrap"};
    case Bug::double_fire_after_move:
      return {"broken_double_fire_after_move", "a move leaves the old entry, which fires as well"};
    case Bug::cancel_leaves_old_entry:
      return {"broken_cancel_leaves_old_entry",
              "a move leaves the old entry, which counts as stale only while the timer is pending"};
    case Bug::cancel_true_twice:
      return {"broken_cancel_true_twice", "cancel() is true for a cancelled timer"};
    case Bug::cancel_true_after_fire:
      return {"broken_cancel_true_after_fire", "cancel() is true for a fired timer"};
    case Bug::falsely_ordered:
      return {"broken_falsely_ordered", "declared ordered, but a jump fires slot by slot"};
    case Bug::time_runs_backwards:
      return {"broken_time_runs_backwards", "a smaller now sets the clock back"};
    case Bug::walks_every_tick: return {"broken_walks_every_tick", "a jump costs its distance"};
    case Bug::walks_when_32_bits_are_few:
      return {"broken_walks_when_32_bits_are_few",
              "a jump costs its distance if the low 32 bits of that are little"};
    case Bug::elapsed_in_31_bits:
      return {"broken_elapsed_in_31_bits", "a jump of 2^31 ticks or more counts as none"};
    case Bug::elapsed_in_32_bits:
      return {"broken_elapsed_in_32_bits", "keeps the low 32 bits of a jump"};
    case Bug::elapsed_in_48_bits:
      return {"broken_elapsed_in_48_bits", "keeps the low 48 bits of a jump"};
    case Bug::fires_twice_after_one_jump:
      return {"broken_fires_twice_after_one_jump", "calls the sink twice after 2^33 + 1 ticks"};
    case Bug::removal_sifts_only_down:
      return {"broken_removal_sifts_only_down", "what fills a removed place never rises"};
    case Bug::signed_deadline: return {"broken_signed_deadline", "compares deadlines as signed"};
    case Bug::deadline_in_32_bits:
      return {"broken_deadline_in_32_bits", "compares the low 32 bits of deadlines"};
    case Bug::deadline_in_53_bits:
      return {"broken_deadline_in_53_bits", "compares deadlines as double"};
    case Bug::stale_next_wakeup:
      return {"broken_stale_next_wakeup", "next_wakeup() misses an earlier timer armed since"};
    case Bug::ignores_earlier_move:
      return {"broken_ignores_earlier_move", "a pending timer moves only later"};
    case Bug::one_fire_an_advance:
      return {"broken_one_fire_an_advance", "advance() fires at most one timer"};
    case Bug::reports_now_as_deadline:
      return {"broken_reports_now_as_deadline", "tells the sink the instant, not the deadline"};
    case Bug::fires_twice_in_one_advance:
      return {"broken_fires_twice_in_one_advance", "calls the sink twice for the last due timer"};
    case Bug::advance_counts_too_many:
      return {"broken_advance_counts_too_many", "advance() counts what it looked at"};
    case Bug::cancel_denies:
      return {"broken_cancel_denies", "cancel() of the first timer is done, but returns false"};
    case Bug::next_wakeup_stuck:
      return {"broken_next_wakeup_stuck", "next_wakeup() is always now while timers are pending"};
    case Bug::next_wakeup_walks:
      return {"broken_next_wakeup_walks", "next_wakeup() looks at every timer"};
    case Bug::cancel_true_after_fire_beyond_16_bits:
      return {"broken_cancel_true_after_fire_beyond_16_bits",
              "cancel() is true for a fired timer whose id is beyond 16 bits"};
    case Bug::cancel_keeps_some_of_many:
      return {"broken_cancel_keeps_some_of_many",
              "of more than 5 000 pending timers, one in 4 096 cannot be cancelled"};
    case Bug::loses_one_of_a_herd:
      return {"broken_loses_one_of_a_herd", "of timers due together, number 3 001 does not fire"};
    case Bug::arming_in_8_bits:
      return {"broken_arming_in_8_bits", "after 2^8 moves an entry left behind counts again"};
    case Bug::arming_in_16_bits:
      return {"broken_arming_in_16_bits", "after 2^16 moves an entry left behind counts again"};
    case Bug::id_in_16_bits: return {"broken_id_in_16_bits", "keeps the low 16 bits of an id"};
    case Bug::id_in_24_bits: return {"broken_id_in_24_bits", "keeps the low 24 bits of an id"};
    case Bug::loses_one_arming:
      return {"broken_loses_one_arming", "arming number 132 073 of an id is lost"};
    case Bug::forgets_the_look:
      return {"broken_forgets_the_look", "a timer that is moved nearer is still looked at later"};
    case Bug::copy_fires_twice:
      return {"broken_copy_fires_twice", "two entries of a timer in one bucket both fire"};
    case Bug::reclaims_a_waiting_entry:
      return {"broken_reclaims_a_waiting_entry",
              "drops the entry of a cancelled timer that relies on it when it is armed again"};
    case Bug::cascade_ahead_misses_late_entries:
      return {"broken_cascade_ahead_misses_late_entries",
              "an entry that comes to a bucket already cascaded is lost"};
    case Bug::cascade_ends_after_a_part:
      return {"broken_cascade_ends_after_a_part",
              "a bucket that cascades in parts counts as empty after the first"};
    case Bug::sweep_drops_a_waiting_entry:
      return {"broken_sweep_drops_a_waiting_entry",
              "sweeps the entry of a cancelled timer that relies on it when it is armed again"};
    case Bug::fires_at_the_first_look:
      return {"broken_fires_at_the_first_look", "does not ask whether a timer is of a later round"};
    case Bug::lost_in_a_jump:
      return {"broken_lost_in_a_jump", "a jump over rounds keeps only the entries of what is due"};
    case Bug::agenda_unsorted:
      return {"broken_agenda_unsorted", "a bucket that is opened goes to the agenda as it is"};
    case Bug::agenda_fires_the_dead:
      return {"broken_agenda_fires_the_dead",
              "a timer that is moved nearer within the agenda fires at its old place too"};
    case Bug::arrival_misses_the_opened_bucket:
      return {"broken_arrival_misses_the_opened_bucket",
              "what is armed for the bucket that is open waits until the next one opens"};
    case Bug::overdue_in_order_of_arming:
      return {"broken_overdue_in_order_of_arming", "fires what is overdue as it was armed"};
    case Bug::idles_past_a_nearer_timer:
      return {"broken_idles_past_a_nearer_timer",
              "advance() does nothing before the instant that was next when it last did something"};
  }
  return {};
}

constexpr Traits traits_of(Bug bug, std::string_view sound_name, Precision precision,
                           bool ordered) {
  const auto [name, summary] = describe(bug);
  return {.name = bug == Bug::none ? sound_name : name,
          .summary = summary,
          .precision = precision,
          .ordered = ordered,
          .paper = ""};
}

// Levels of so many buckets, each level as many times as wide as the one below, and a queue of
// buckets by the instant at which they open. An opened bucket fires what is due and inserts the rest
// again, on a lower level. A past deadline goes to the bucket of the clock.
template <Bug kBug, std::size_t kSlots = 8>
class BrokenWheel {
 public:
  static constexpr Traits traits = [] {
    Traits traits = traits_of(
        kBug, "sound_wheel",
        kBug == Bug::early_by_two_granules ? Precision::early : Precision::granular, true);
    if constexpr (kSlots != 8) {
      traits.name = JoinedName<NamePart<BrokenWheel<kBug>>, NumberPart<kSlots>>::view;
    }
    return traits;
  }();

  explicit BrokenWheel(const QueueConfig& config)
      : granularity_(config.granularity),
        now_(config.start),
        deadlines_(config.capacity),
        bucket_of_(config.capacity, kNoBucket) {}

  void schedule(TimerId id, Tick deadline) {
    const bool moved = cancel(id);
    if (moved && kBug == Bug::size_counts_moves) ++size_;
    ++size_;
    deadlines_[id] = deadline;
    insert({deadline, id});
  }

  bool cancel(TimerId id) {
    if (bucket_of_[id] == kNoBucket) return false;
    buckets_[bucket_of_[id]].erase({deadlines_[id], id});
    bucket_of_[id] = kNoBucket;
    --size_;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    std::size_t fired = 0;
    while (!queue_.empty() && queue_.begin()->first <= now) {
      const auto [opens, bucket] = *queue_.begin();
      queue_.erase(queue_.begin());
      now_ = opens;
      for (const Timer& timer : std::exchange(buckets_[bucket], {})) {
        const auto [deadline, id] = timer;
        if (due(deadline) > now_ && kBug != Bug::early_on_long_delays) {
          insert(timer);
          continue;
        }
        if (kBug == Bug::lost_in_cascade && bucket >= kSlots) continue;
        bucket_of_[id] = kNoBucket;
        --size_;
        ++fired;
        sink(id, deadline);
      }
    }
    now_ = now;
    return fired;
  }

  Tick next_wakeup() const {
    if (size_ == 0 && kBug != Bug::wakeup_while_empty) return kNever;
    if constexpr (kBug == Bug::wakeup_looks_one_level_up) {
      const std::size_t lowest = std::ranges::min(queue_ | std::views::transform(level_of));
      return std::ranges::find_if(
                 queue_, [=](const auto& queued) { return level_of(queued) <= lowest + 1; })
          ->first;
    }
    const auto next =
        kBug == Bug::wakeup_misses_past ? queue_.upper_bound({now_, kNoBucket}) : queue_.begin();
    return next == queue_.end() ? kNever : next->first;
  }

  std::size_t size() const { return size_; }

 private:
  using Timer = std::pair<Tick, TimerId>;  // its deadline comes first, so that a bucket is in order

  static constexpr std::size_t kNoBucket = ~std::size_t{0};

  // As many as reach the end of time.
  static constexpr std::size_t kLevels = [] {
    std::size_t levels = 1;
    for (Tick reach = kNever / kSlots; reach > 0; reach /= kSlots) ++levels;
    return levels;
  }();

  // The ticks of a bucket, by level.
  static constexpr auto kWidths = [] {
    std::array<Tick, kLevels> widths{1};
    for (std::size_t level = 1; level < kLevels; ++level) {
      widths[level] = widths[level - 1] * kSlots;
    }
    return widths;
  }();

  static constexpr std::size_t level_of(const std::pair<Tick, std::size_t>& queued) {
    return queued.second / kSlots;
  }

  Tick due(Tick deadline) const {
    if constexpr (kBug == Bug::early_by_a_granule) {
      return granularity_.instant(granularity_.floor(deadline));
    }
    if constexpr (kBug == Bug::early_by_two_granules) {
      return granularity_.instant(std::max<Tick>(1, granularity_.floor(deadline)) - 1);
    }
    if constexpr (kBug == Bug::late_by_a_granule) {
      return granularity_.instant(granularity_.floor(deadline) + 1);
    }
    return granularity_.instant(granularity_.ceil(deadline));
  }

  void insert(const Timer& timer) {
    const auto [deadline, id] = timer;
    const Tick at = std::max(due(deadline), now_);
    std::size_t level = 0;
    while (at / kWidths[level] - now_ / kWidths[level] >= kSlots) ++level;
    const Tick position = at / kWidths[level];
    const std::size_t bucket = level * kSlots + position % kSlots;
    Tick opens = position * kWidths[level];
    if constexpr (kBug == Bug::queued_key_mutated) {
      std::erase_if(queue_, [&](const auto& queued) { return queued.second == bucket; });
      opens = at;
    }
    queue_.emplace(opens, bucket);
    buckets_[bucket].insert(timer);
    if (kBug == Bug::cancel_misses_cascaded && bucket_of_[id] != kNoBucket) return;
    bucket_of_[id] = bucket;
  }

  Granularity granularity_;
  Tick now_;
  std::size_t size_ = 0;
  std::vector<Tick> deadlines_;
  std::vector<std::size_t> bucket_of_;  // kNoBucket: not pending
  std::vector<std::set<Timer>> buckets_{kLevels * kSlots};
  std::set<std::pair<Tick, std::size_t>> queue_;  // when a bucket opens, and which; it may be empty
};

// One ring of eight slots. A timer waits in the slot of the tick at which it is due, for so many
// rounds; a ninth slot holds what is due already.
template <Bug kBug>
class BrokenRing {
 public:
  static constexpr Traits traits =
      traits_of(kBug, "sound_ring", Precision::granular, kBug == Bug::falsely_ordered);

  explicit BrokenRing(const QueueConfig& config)
      : granularity_(config.granularity),
        now_(config.start),
        deadlines_(config.capacity, kNever),
        slot_of_(config.capacity) {}

  void schedule(TimerId id, Tick deadline) {
    if constexpr (kBug == Bug::double_fire_after_move || kBug == Bug::cancel_leaves_old_entry) {
      if (pending(id)) --size_;
    } else {
      cancel(id);
    }
    ++size_;
    deadlines_[id] = deadline;
    const Tick due = granularity_.instant(granularity_.ceil(deadline));
    if (due <= now_ && kBug != Bug::past_deadline_lost) {
      enter(id, kOverdue, 0);
    } else {
      const Tick first_visit = kBug == Bug::late_by_a_round ? 0 : 1;
      enter(id, due % kSlots,
            kBug == Bug::ignores_rounds ? 0 : (due - now_ - first_visit) / kSlots);
    }
  }

  bool cancel(TimerId id) {
    if (!pending(id)) return false;
    size_ -= slots_[slot_of_[id]].erase(id);
    if (kBug != Bug::cancel_true_twice) deadlines_[id] = kNever;
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) {
      if (kBug == Bug::time_runs_backwards) now_ = now;
      return 0;
    }
    elapsed_ = now - now_;
    std::size_t fired = visit(kOverdue, 1, sink);
    if (kBug == Bug::walks_every_tick || (kBug == Bug::walks_when_32_bits_are_few &&
                                          static_cast<std::uint32_t>(now - now_) <= kSlots)) {
      Tick patience = 1 << 21;  // of a test: enough to be noticed
      for (; now - now_ > kSlots && patience > 0; --patience) {
        fired += visit(++now_ % kSlots, 1, sink);
      }
    }
    Tick elapsed = now - now_;
    if (kBug == Bug::elapsed_in_31_bits && elapsed >> 31 != 0) elapsed = 0;
    if (kBug == Bug::elapsed_in_32_bits) elapsed %= Tick{1} << 32;
    if (kBug == Bug::elapsed_in_48_bits) elapsed %= Tick{1} << 48;
    for (Tick ahead = 1; ahead <= std::min<Tick>(elapsed, kSlots); ++ahead) {
      const std::size_t slot = (now_ + ahead) % kSlots;
      if (kBug == Bug::visits_only_last_slot && slot != now % kSlots) continue;
      const Tick rounds = kBug == Bug::counts_one_round ? 1 : 1 + (elapsed - ahead) / kSlots;
      fired += visit(slot, rounds, sink);
    }
    now_ = now;
    return fired;
  }

  Tick next_wakeup() const {
    if (!slots_[kOverdue].empty()) return now_;
    for (Tick ahead = 1; ahead <= kSlots; ++ahead) {
      if (!slots_[(now_ + ahead) % kSlots].empty()) return now_ + ahead;
    }
    return kNever;
  }

  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kSlots = 8;
  static constexpr std::size_t kOverdue = kSlots;

  bool pending(TimerId id) const { return deadlines_[id] != kNever; }

  void enter(TimerId id, std::size_t slot, Tick rounds) {
    slot_of_[id] = slot;
    slots_[slot][id] = rounds;
  }

  // The hand has passed the slot so many times.
  template <class Sink>
  std::size_t visit(std::size_t slot, Tick times, Sink& sink) {
    std::size_t fired = 0;
    for (auto timer = slots_[slot].begin(); timer != slots_[slot].end();) {
      if (timer->second >= times) {
        timer->second -= times;
        if (kBug == Bug::stops_at_future_round) break;
        ++timer;
        continue;
      }
      const TimerId id = timer->first;
      timer = slots_[slot].erase(timer);
      if (kBug == Bug::cancel_leaves_old_entry && pending(id) && slot_of_[id] != slot) continue;
      const Tick deadline = deadlines_[id];
      if (kBug != Bug::cancel_true_after_fire) deadlines_[id] = kNever;
      --size_;
      ++fired;
      sink(id, deadline);
      if (kBug == Bug::fires_twice_after_one_jump && elapsed_ == (Tick{1} << 33) + 1) {
        ++fired;
        sink(id, deadline);
      }
    }
    return fired;
  }

  Granularity granularity_;
  Tick now_;
  Tick elapsed_ = 0;  // since the last advance(), for fires_twice_after_one_jump
  std::size_t size_ = 0;
  std::vector<Tick> deadlines_;       // kNever: not pending
  std::vector<std::size_t> slot_of_;  // of a pending timer
  std::array<std::map<TimerId, Tick>, kSlots + 1>
      slots_;  // timers, and the rounds each has to wait
};

// A binary heap of ids that knows the place of each.
template <Bug kBug>
class BrokenHeap {
 public:
  static constexpr Traits traits = traits_of(kBug, "sound_heap", Precision::exact, true);

  explicit BrokenHeap(const QueueConfig& config)
      : now_(config.start),
        deadlines_(config.capacity),
        has_fired_(config.capacity),
        places_(config.capacity, kNoPlace) {}

  void schedule(TimerId id, Tick deadline) {
    if (places_[id] == kNoPlace) {
      if (heap_.empty()) wakeup_ = deadline;
      places_[id] = heap_.size();
      heap_.push_back(id);
    } else if (kBug == Bug::ignores_earlier_move && deadline < deadlines_[id]) {
      return;
    }
    deadlines_[id] = deadline;
    has_fired_[id] = false;
    sift_down(sift_up(places_[id]));
  }

  bool cancel(TimerId id) {
    if (places_[id] == kNoPlace) {
      return kBug == Bug::cancel_true_after_fire_beyond_16_bits && id > 1U << 16 && has_fired_[id];
    }
    if (kBug == Bug::cancel_keeps_some_of_many && size() > 5'000 && id % 4'096 == 4'095)
      return true;
    const bool is_first = places_[id] == 0;
    remove(places_[id]);
    return kBug != Bug::cancel_denies || !is_first;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    std::size_t fired = 0;
    Tick last_deadline = kNever;
    for (std::size_t herd = 0; !heap_.empty() && key(deadlines_[heap_[0]]) <= key(now);) {
      const TimerId id = heap_[0];
      remove(0);
      has_fired_[id] = true;
      herd = std::exchange(last_deadline, deadlines_[id]) == deadlines_[id] ? herd + 1 : 1;
      if (kBug == Bug::loses_one_of_a_herd && herd == 3'001) continue;
      ++fired;
      sink(id, kBug == Bug::reports_now_as_deadline ? now : deadlines_[id]);
      if (kBug == Bug::one_fire_an_advance) break;
      if (kBug == Bug::fires_twice_in_one_advance &&
          (heap_.empty() || deadlines_[heap_[0]] > now)) {
        ++fired;
        sink(id, deadlines_[id]);
      }
    }
    if (kBug == Bug::advance_counts_too_many && !heap_.empty()) ++fired;
    if (!heap_.empty()) wakeup_ = deadlines_[heap_[0]];
    return fired;
  }

  Tick next_wakeup() const {
    if (heap_.empty()) return kNever;
    if constexpr (kBug == Bug::next_wakeup_stuck) return now_;
    if constexpr (kBug == Bug::next_wakeup_walks) {
      Tick first = kNever;
      for (const TimerId id : heap_) first = std::min(first, deadlines_[id]);
      return first;
    }
    return kBug == Bug::stale_next_wakeup ? wakeup_ : deadlines_[heap_[0]];
  }

  std::size_t size() const { return heap_.size(); }

 private:
  static constexpr std::size_t kNoPlace = ~std::size_t{0};

  // What is compared.
  static auto key(Tick deadline) {
    if constexpr (kBug == Bug::signed_deadline) {
      return static_cast<std::int64_t>(deadline);
    } else if constexpr (kBug == Bug::deadline_in_32_bits) {
      return static_cast<std::uint32_t>(deadline);
    } else if constexpr (kBug == Bug::deadline_in_53_bits) {
      return static_cast<double>(deadline);
    } else {
      return deadline;
    }
  }

  bool before(std::size_t a, std::size_t b) const {
    return key(deadlines_[heap_[a]]) < key(deadlines_[heap_[b]]);
  }

  void swap(std::size_t a, std::size_t b) {
    std::swap(heap_[a], heap_[b]);
    std::swap(places_[heap_[a]], places_[heap_[b]]);
  }

  // Both return the place where the timer ends up.
  std::size_t sift_up(std::size_t place) {
    for (; place > 0 && before(place, (place - 1) / 2); place = (place - 1) / 2) {
      swap(place, (place - 1) / 2);
    }
    return place;
  }

  std::size_t sift_down(std::size_t place) {
    for (std::size_t child; (child = 2 * place + 1) < heap_.size(); place = child) {
      if (child + 1 < heap_.size() && before(child + 1, child)) ++child;
      if (!before(child, place)) break;
      swap(child, place);
    }
    return place;
  }

  void remove(std::size_t place) {
    swap(place, heap_.size() - 1);
    places_[heap_.back()] = kNoPlace;
    heap_.pop_back();
    if (place == heap_.size()) return;
    sift_down(kBug == Bug::removal_sifts_only_down ? place : sift_up(place));
  }

  Tick now_;
  Tick wakeup_ = kNever;  // the first deadline as of the last advance(), for stale_next_wakeup
  std::vector<Tick> deadlines_;
  std::vector<bool> has_fired_;      // since the last arming
  std::vector<std::size_t> places_;  // kNoPlace: not pending
  std::vector<TimerId> heap_;
};

// A binary heap with lazy deletion: an entry counts if it is of its timer's last arming.
template <Bug kBug>
class BrokenLazyHeap {
 public:
  static constexpr Traits traits = traits_of(kBug, "sound_lazy_heap", Precision::exact, true);

  explicit BrokenLazyHeap(const QueueConfig& config)
      : now_(config.start), timers_(config.capacity) {}

  void schedule(TimerId id, Tick deadline) {
    cancel(id);
    timers_[kept(id)] = {deadline, next_arming(id)};
    ++size_;
    if (kBug == Bug::loses_one_arming && timers_[id].arming == 132'073) return;
    heap_.emplace(deadline, kept(id), timers_[kept(id)].arming);
  }

  bool cancel(TimerId id) {
    Timer& timer = timers_[kept(id)];
    if (timer.deadline == kNever) return false;
    timer.deadline = kNever;
    --size_;
    drop_dead_tops();
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    std::size_t fired = 0;
    for (; !heap_.empty() && std::get<Tick>(heap_.top()) <= now; ++fired) {
      const auto [deadline, id, arming] = heap_.top();
      heap_.pop();
      timers_[id].deadline = kNever;
      --size_;
      drop_dead_tops();
      sink(id, deadline);
    }
    return fired;
  }

  Tick next_wakeup() const { return heap_.empty() ? kNever : std::get<Tick>(heap_.top()); }
  std::size_t size() const { return size_; }

 private:
  using Entry = std::tuple<Tick, TimerId, std::uint32_t>;  // deadline, id, arming

  struct Timer {
    Tick deadline = kNever;  // kNever: not pending
    std::uint32_t arming = 0;
  };

  static TimerId kept(TimerId id) {
    if (kBug == Bug::id_in_16_bits) return id % (1U << 16);
    if (kBug == Bug::id_in_24_bits) return id % (1U << 24);
    return id;
  }

  std::uint32_t next_arming(TimerId id) const {
    const std::uint32_t next = timers_[kept(id)].arming + 1;
    if (kBug == Bug::arming_in_8_bits) return next % (1U << 8);
    if (kBug == Bug::arming_in_16_bits) return next % (1U << 16);
    return next;
  }

  void drop_dead_tops() {
    while (!heap_.empty()) {
      const auto& [deadline, id, arming] = heap_.top();
      if (timers_[id].deadline != kNever && timers_[id].arming == arming) return;
      heap_.pop();
    }
  }

  Tick now_;
  std::size_t size_ = 0;
  std::vector<Timer> timers_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

// Two levels of logs that are never unlinked; a timer knows which bucket has its live entry. Each
// advance() sweeps a bucket. A ring is the lower level alone.
template <Bug kBug, bool kIsRing = false>
class BrokenLogWheel {
 public:
  static constexpr Traits traits =
      traits_of(kBug, kIsRing ? "sound_log_ring" : "sound_log_wheel", Precision::exact, true);

  explicit BrokenLogWheel(const QueueConfig& config)
      : now_(config.start), timers_(config.capacity) {}

  void schedule(TimerId id, Tick deadline) {
    Timer& timer = timers_[id];
    size_ += timer.deadline == kNever;
    timer.deadline = deadline;
    const Tick due = std::max(deadline, now_);
    if (timer.look > due) append(id, due);
  }

  bool cancel(TimerId id) {
    Timer& timer = timers_[id];
    if (timer.deadline == kNever) return false;
    timer.deadline = kNever;
    --size_;
    if (kBug == Bug::reclaims_a_waiting_entry && far_.contains(timer.look)) {
      std::erase(far_[timer.look], id);
    }
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    if (kIsRing && now - now_ >= kTicks) pass_rounds(now - (kTicks - 1));
    std::size_t fired = 0;
    while (next() <= now) {
      now_ = next();
      cascade_until(now_);
      fired += fire(sink);
    }
    now_ = now;
    cascade_until(now_ + std::min(kTicks, kNever - 1 - now_));
    if (!far_.empty()) sweep(*far_.rbegin());
    return fired;
  }

  Tick next_wakeup() const { return size_ == 0 ? kNever : next(); }
  std::size_t size() const { return size_; }

 private:
  using Logs = std::map<Tick, std::vector<TimerId>>;  // by the first tick of the bucket

  static constexpr Tick kTicks = 16;  // of an upper bucket, or of a ring

  struct Timer {
    Tick deadline = kNever;  // kNever: not pending
    Tick look = kNever;      // the bucket of the live entry
  };

  Tick next() const {
    const auto first = [](const Logs& logs) { return logs.empty() ? kNever : logs.begin()->first; };
    return std::min(first(near_), first(far_));
  }

  void append(TimerId id, Tick due) {
    Timer& timer = timers_[id];
    // The bucket that follows the hand may have been cascaded, so all of it is near.
    constexpr Tick kNear = kBug == Bug::cascade_ahead_misses_late_entries ? kTicks : 2 * kTicks;
    // A ring has nothing farther: what is due after a round waits at the end of this one.
    if (kIsRing) due = std::min(due, now_ + std::min(kTicks - 1, kNever - 1 - now_));
    const bool is_near = due - now_ < kNear;
    const Tick begin = is_near ? due : due / kTicks * kTicks;
    (is_near ? near_ : far_)[begin].push_back(id);
    if (kBug == Bug::forgets_the_look && timer.look != kNever) return;
    timer.look = begin;
  }

  // Cascades the upper buckets that begin by then.
  void cascade_until(Tick tick) {
    while (!far_.empty() && far_.begin()->first <= tick) {
      const auto [begin, log] = *far_.begin();
      far_.erase(far_.begin());
      const bool was_cascaded = begin == std::exchange(last_cascaded_, begin);
      if (kBug == Bug::cascade_ahead_misses_late_entries && was_cascaded) continue;
      constexpr std::size_t kPart = kBug == Bug::cascade_ends_after_a_part ? 4 : kNever;
      for (std::size_t i = 0; i < std::min(kPart, log.size()); ++i) look_again(log[i], begin);
    }
  }

  void look_again(TimerId id, Tick begin) {
    Timer& timer = timers_[id];
    if (timer.look != begin) return;
    timer.look = kNever;
    if (timer.deadline != kNever) append(id, std::max(timer.deadline, now_));
  }

  // Drops the dead entries of this bucket.
  void sweep(Logs::value_type& bucket) {
    std::erase_if(bucket.second, [&](TimerId id) {
      const Timer& timer = timers_[id];
      return timer.look != bucket.first ||
             (kBug == Bug::sweep_drops_a_waiting_entry && timer.deadline == kNever);
    });
  }

  // Moves the hand of a ring past buckets that are not opened.
  void pass_rounds(Tick hand) {
    now_ = hand;
    for (const auto& [begin, log] : std::exchange(near_, {})) {
      for (const TimerId id : log) {
        if (kBug == Bug::lost_in_a_jump && timers_[id].deadline > now_) continue;
        look_again(id, begin);
      }
    }
  }

  template <class Sink>
  std::size_t fire(Sink& sink) {
    std::vector<std::pair<Tick, TimerId>> due;
    const std::vector<TimerId> log = std::exchange(near_[now_], {});
    near_.erase(now_);
    for (const TimerId id : log) {
      Timer& timer = timers_[id];
      const bool is_due = timer.deadline <= now_ ||
                          (kBug == Bug::fires_at_the_first_look && timer.deadline != kNever);
      if (timer.look == now_ && is_due) {
        due.emplace_back(timer.deadline, id);
        if (kBug != Bug::copy_fires_twice) timer.look = kNever;
      } else {
        look_again(id, now_);
      }
    }
    std::ranges::sort(due);
    for (const auto& [deadline, id] : due) {
      timers_[id] = {};
      --size_;
      sink(id, deadline);
    }
    return due.size();
  }

  Tick now_;
  Tick last_cascaded_ = kNever;
  std::size_t size_ = 0;
  std::vector<Timer> timers_;
  Logs near_;  // buckets of a tick
  Logs far_;
};

template <Bug kBug>
using BrokenLogRing = BrokenLogWheel<kBug, true>;

// Logs of 16 ticks. The one that is open is a sorted agenda; what is overdue waits apart.
template <Bug kBug>
class BrokenLogCalendar {
 public:
  static constexpr Traits traits = traits_of(kBug, "sound_log_calendar", Precision::exact, true);

  explicit BrokenLogCalendar(const QueueConfig& config)
      : now_(config.start), timers_(config.capacity) {}

  void schedule(TimerId id, Tick deadline) {
    Timer& timer = timers_[id];
    size_ += timer.deadline == kNever;
    timer.deadline = deadline;
    const Tick due = std::max(deadline, now_);
    if (timer.look > due) place(id, due);
  }

  bool cancel(TimerId id) {
    const bool was_pending = std::exchange(timers_[id].deadline, kNever) != kNever;
    size_ -= was_pending;
    return was_pending;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    if (now < idle_until_) {
      now_ = now;
      return 0;
    }
    std::size_t fired = fire_overdue(sink);
    while (next() <= now) {
      now_ = next();
      if (!logs_.empty() && logs_.begin()->first == now_) {
        open();
      } else {
        const TimerId id = agenda_.back().second;
        agenda_.pop_back();
        fired += look_at(id, now_, sink);
      }
    }
    now_ = now;
    idle_until_ = next();
    return fired;
  }

  Tick next_wakeup() const {
    if (size_ == 0) return kNever;
    return overdue_.empty() ? next() : now_;
  }
  std::size_t size() const { return size_; }

 private:
  using Entry = std::pair<Tick, TimerId>;

  static constexpr Tick kTicks = 16;  // of a log

  struct Timer {
    Tick deadline = kNever;  // kNever: not pending
    Tick look = kNever;      // where the live entry is
  };

  Tick next() const {
    return std::min(logs_.empty() ? kNever : logs_.begin()->first,
                    agenda_.empty() ? kNever : agenda_.back().first);
  }

  void place(TimerId id, Tick due) {
    Tick& look = timers_[id].look;
    const Tick begin = due / kTicks * kTicks;
    if (due <= now_) {
      look = now_;
      overdue_.push_back(id);
    } else if (begin > now_) {
      look = begin;
      logs_[begin].push_back(id);
    } else if (kBug == Bug::arrival_misses_the_opened_bucket && begin < kNever - kTicks) {
      look = begin + kTicks;
      logs_[look].push_back(id);
    } else {
      look = due;
      const Entry entry{due, id};
      agenda_.insert(std::ranges::upper_bound(agenda_, entry, std::greater<>()), entry);
    }
    if (kBug != Bug::idles_past_a_nearer_timer) idle_until_ = std::min(idle_until_, look);
  }

  void open() {
    const auto log = logs_.extract(now_);
    for (const TimerId id : log.mapped()) {
      Timer& timer = timers_[id];
      if (timer.look != now_) continue;
      timer.look = timer.deadline;
      if (timer.deadline == kNever) continue;
      if (timer.deadline / kTicks > now_ / kTicks) {
        place(id, timer.deadline);
      } else {
        agenda_.emplace_back(timer.deadline, id);
      }
    }
    if (kBug != Bug::agenda_unsorted) std::ranges::sort(agenda_, std::greater<>());
  }

  template <class Sink>
  std::size_t fire_overdue(Sink& sink) {
    std::vector<TimerId> overdue = std::exchange(overdue_, {});
    if (kBug != Bug::overdue_in_order_of_arming) {
      std::ranges::sort(overdue, {}, [&](TimerId id) { return timers_[id].deadline; });
    }
    std::size_t fired = 0;
    for (const TimerId id : overdue) fired += look_at(id, now_, sink);
    return fired;
  }

  // Returns how many have fired.
  template <class Sink>
  std::size_t look_at(TimerId id, Tick look, Sink& sink) {
    Timer& timer = timers_[id];
    if (timer.look != look) {
      if (kBug != Bug::agenda_fires_the_dead) return 0;
      sink(id, look);
      return 1;
    }
    timer.look = kNever;
    if (timer.deadline == kNever) return 0;
    if (timer.deadline > now_) {
      place(id, timer.deadline);
      return 0;
    }
    --size_;
    sink(id, std::exchange(timer.deadline, kNever));
    return 1;
  }

  Tick now_;
  Tick idle_until_ = 0;
  std::size_t size_ = 0;
  std::vector<Timer> timers_;
  std::map<Tick, std::vector<TimerId>> logs_;  // by the first tick, which is after now_
  std::vector<Entry> agenda_;                  // the latest first
  std::vector<TimerId> overdue_;
};

// Of Precision::relative, late by 8/63 of the delay and so many ticks: a timer waits under that
// instant. Sound without the ticks.
template <Tick kTicks>
class LateByAPart {
 public:
  static constexpr Traits traits{.name = kTicks == 0 ? "late_by_a_part" : "broken_late_by_a_part",
                                 .summary = "fires a part of its delay late",
                                 .precision = Precision::relative,
                                 .ordered = false,
                                 .paper = ""};

  explicit LateByAPart(const QueueConfig& config)
      : granularity_(config.granularity), waiting_(config), deadlines_(config.capacity) {}

  void schedule(TimerId id, Tick deadline) {
    const Tick delay = deadline - std::min(deadline, waiting_.now());
    const Tick late = delay / 63 * 8 + delay % 63 * 8 / 63 + kTicks;
    const Tick rounded = std::min(granularity_.instant(granularity_.ceil(deadline)), kNever - 1);
    waiting_.schedule(id, rounded + std::min(late, kNever - 1 - rounded));
    deadlines_[id] = deadline;
  }

  bool cancel(TimerId id) { return waiting_.cancel(id); }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    return waiting_.advance(now, [&](TimerId id, Tick) { sink(id, deadlines_[id]); });
  }

  Tick next_wakeup() const { return waiting_.next_wakeup(); }
  std::size_t size() const { return waiting_.size(); }

 private:
  Granularity granularity_;
  Model waiting_;  // by latest instant
  std::vector<Tick> deadlines_;
};

// The sound one of these, but it does not notice that an earlier timer is armed.
class RelativeWakeupStuck : public LateByAPart<0> {
 public:
  static constexpr Traits traits{.name = "broken_relative_wakeup_stuck",
                                 .summary = "wakes up for the timer that was armed first",
                                 .precision = Precision::relative,
                                 .ordered = false,
                                 .paper = ""};
  using LateByAPart::LateByAPart;

  void schedule(TimerId id, Tick deadline) {
    LateByAPart::schedule(id, deadline);
    wakeup_ = size() == 1 ? LateByAPart::next_wakeup() : wakeup_;
  }

  bool cancel(TimerId id) {
    const bool cancelled = LateByAPart::cancel(id);
    wakeup_ = LateByAPart::next_wakeup();
    return cancelled;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    const std::size_t fired = LateByAPart::advance(now, sink);
    wakeup_ = LateByAPart::next_wakeup();
    return fired;
  }

  Tick next_wakeup() const { return wakeup_; }

 private:
  Tick wakeup_ = kNever;
};

// Sound with its licence: looks at every tick on the way.
class TickWalker : public Model {
 public:
  static constexpr Traits traits{.name = "tick_walker",
                                 .summary = "the model, tick by tick",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "",
                                 .walks_ticks = true};
  using Model::Model;

  template <class Sink>
  std::size_t advance(Tick to, Sink&& sink) {
    std::size_t fired = Model::advance(to < now() ? to : now(), sink);
    while (now() < to) fired += Model::advance(now() + 1, sink);
    return fired;
  }
};

// Sound with its licence: does not know when it must wake up next.
class Guesser : public Model {
 public:
  static constexpr Traits traits{.name = "guesser",
                                 .summary = "the model, always about to fire",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "",
                                 .guesses_wakeup = true};
  using Model::Model;

  Tick next_wakeup() const { return size() == 0 ? kNever : now(); }
};

using SoundQueues =
    std::tuple<BrokenWheel<Bug::none>, BrokenWheel<Bug::none, 100>, BrokenRing<Bug::none>,
               BrokenHeap<Bug::none>, BrokenLazyHeap<Bug::none>, BrokenLogWheel<Bug::none>,
               BrokenLogRing<Bug::none>, BrokenLogCalendar<Bug::none>, LateByAPart<0>, TickWalker,
               Guesser>;

// What a trace can show.
using BrokenOnTraces = std::tuple<  //
    BrokenWheel<Bug::early_on_long_delays>, BrokenWheel<Bug::lost_in_cascade>,
    BrokenWheel<Bug::cancel_misses_cascaded>, BrokenWheel<Bug::queued_key_mutated>,
    BrokenWheel<Bug::early_by_a_granule>, BrokenWheel<Bug::late_by_a_granule>,
    BrokenWheel<Bug::wakeup_misses_past>, BrokenWheel<Bug::wakeup_while_empty>,
    BrokenWheel<Bug::size_counts_moves>, BrokenWheel<Bug::early_by_two_granules>,
    BrokenWheel<Bug::wakeup_looks_one_level_up, 16>,
    BrokenWheel<Bug::wakeup_looks_one_level_up, 20>,
    BrokenWheel<Bug::wakeup_looks_one_level_up, 64>,
    BrokenWheel<Bug::wakeup_looks_one_level_up, 100>,
    BrokenWheel<Bug::wakeup_looks_one_level_up, 256>,
    BrokenWheel<Bug::wakeup_looks_one_level_up, 512>,
    BrokenWheel<Bug::wakeup_looks_one_level_up, 4096>,  //
    BrokenRing<Bug::ignores_rounds>, BrokenRing<Bug::late_by_a_round>,
    BrokenRing<Bug::stops_at_future_round>, BrokenRing<Bug::visits_only_last_slot>,
    BrokenRing<Bug::counts_one_round>, BrokenRing<Bug::past_deadline_lost>,
    BrokenRing<Bug::double_fire_after_move>, BrokenRing<Bug::cancel_leaves_old_entry>,
    BrokenRing<Bug::cancel_true_twice>, BrokenRing<Bug::cancel_true_after_fire>,
    BrokenRing<Bug::falsely_ordered>,  //
    BrokenHeap<Bug::removal_sifts_only_down>, BrokenHeap<Bug::deadline_in_32_bits>,
    BrokenHeap<Bug::stale_next_wakeup>, BrokenHeap<Bug::ignores_earlier_move>,
    BrokenHeap<Bug::one_fire_an_advance>, BrokenHeap<Bug::reports_now_as_deadline>,
    BrokenHeap<Bug::signed_deadline>, BrokenHeap<Bug::deadline_in_53_bits>,
    BrokenHeap<Bug::fires_twice_in_one_advance>, BrokenHeap<Bug::advance_counts_too_many>,
    BrokenHeap<Bug::cancel_denies>, BrokenHeap<Bug::next_wakeup_stuck>,  //
    BrokenLogWheel<Bug::forgets_the_look>, BrokenLogWheel<Bug::copy_fires_twice>,
    BrokenLogWheel<Bug::reclaims_a_waiting_entry>,
    BrokenLogWheel<Bug::cascade_ahead_misses_late_entries>,
    BrokenLogWheel<Bug::cascade_ends_after_a_part>,
    BrokenLogWheel<Bug::sweep_drops_a_waiting_entry>,                                 //
    BrokenLogRing<Bug::fires_at_the_first_look>, BrokenLogRing<Bug::lost_in_a_jump>,  //
    BrokenLogCalendar<Bug::agenda_unsorted>, BrokenLogCalendar<Bug::agenda_fires_the_dead>,
    BrokenLogCalendar<Bug::arrival_misses_the_opened_bucket>,
    BrokenLogCalendar<Bug::idles_past_a_nearer_timer>, LateByAPart<1>, RelativeWakeupStuck>;

// What no random trace shows: it takes a smaller now, a past deadline, a stopwatch, longer jumps,
// more calls or ids.
using BrokenBeyondTraces =
    std::tuple<BrokenRing<Bug::time_runs_backwards>, BrokenRing<Bug::walks_every_tick>,
               BrokenRing<Bug::walks_when_32_bits_are_few>, BrokenRing<Bug::elapsed_in_31_bits>,
               BrokenRing<Bug::elapsed_in_32_bits>, BrokenRing<Bug::elapsed_in_48_bits>,
               BrokenRing<Bug::fires_twice_after_one_jump>, BrokenHeap<Bug::next_wakeup_walks>,
               BrokenHeap<Bug::cancel_true_after_fire_beyond_16_bits>,
               BrokenHeap<Bug::cancel_keeps_some_of_many>, BrokenHeap<Bug::loses_one_of_a_herd>,
               BrokenLazyHeap<Bug::loses_one_arming>, BrokenLazyHeap<Bug::arming_in_8_bits>,
               BrokenLazyHeap<Bug::arming_in_16_bits>, BrokenLazyHeap<Bug::id_in_16_bits>,
               BrokenLazyHeap<Bug::id_in_24_bits>,
               BrokenLogCalendar<Bug::overdue_in_order_of_arming>>;

using BrokenQueues =
    decltype(std::tuple_cat(std::declval<BrokenOnTraces>(), std::declval<BrokenBeyondTraces>()));

}  // namespace timerbench
