#include "verify/contract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <new>
#include <optional>
#include <vector>

#include "core/timer_queue.h"
#include "verify/audited_queue.h"
#include "verify/logged_queue.h"
#include "verify/radices.h"

namespace timerbench {
namespace {

// Delays at which structures change their behaviour: slots of rings and levels of wheels (20, 64,
// 256, 512, 65 536 and their squares), words of bitmaps, and the delays on both sides of each.
constexpr std::initializer_list<Tick> kBoundaries = {
    1,     2,     19,     20,     21,     39,     40,     63,      64,       65,
    127,   128,   255,    256,    257,    399,    400,    401,     511,      512,
    513,   1024,  4095,   4096,   4097,   7999,   8000,   8001,    65535,    65536,
    65537, 65792, 131072, 160000, 262143, 262144, 262145, 1 << 24, 16777217, 3200000};

// Deadlines at which types overflow: signed, 32-bit, double, and the largest tick.
constexpr std::initializer_list<Tick> kFarDeadlines = {
    Tick{1} << 31, Tick{1} << 32,       (Tick{1} << 32) + 1, (Tick{1} << 53) - 1,
    Tick{1} << 53, (Tick{1} << 53) + 1, Tick{1} << 62,       (Tick{1} << 63) - 1,
    Tick{1} << 63, (Tick{1} << 63) + 1, kNever - 513,        kNever - 2,
    kNever - 1};

// A small random number generator for scenarios.
class Lcg {
 public:
  Tick below(Tick bound) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return (state_ >> 33) % bound;
  }

 private:
  Tick state_ = 42;
};

// No scenario jumps farther. It ends soon enough if each tick takes a microsecond.
Tick longest_jump(const Backend& backend) {
  return backend.traits.walks_ticks ? Tick{1} << 20 : kNever;
}

void require(bool holds, int rule, std::string_view what) {
  if (!holds) throw ContractViolation(fmt::format("rule {}: {}", rule, what), call_log().text());
}

// Backends too slow for a large scenario skip the rest of it: those with O(n) calls.
class Patience {
 public:
  bool ended() const { return Clock::now() > end_; }

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point end_ = Clock::now() + std::chrono::seconds(2);
};

void fires_at_its_deadline_and_not_before(const Backend& backend) {
  for (const Tick start : {Tick{0}, Tick{7}, Tick{1000}, Tick{1} << 32}) {
    for (const Tick delay : kBoundaries) {
      if (delay > longest_jump(backend)) continue;
      AuditedQueue queue(backend, {.capacity = 1, .start = start});
      queue.schedule(0, start + delay);
      queue.advance(start + delay - 1);
      queue.advance(start + delay);
    }
  }
}

void fires_on_time_when_stepped_tick_by_tick(const Backend& backend) {
  constexpr TimerId kTimers = 300;
  AuditedQueue queue(backend, {.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, Tick{2} * id + 1);
  for (Tick now = 0; now <= Tick{3} * kTimers; ++now) queue.advance(now);
  require(queue.size() == 0, 2, "timers are left after the last deadline");
}

void fires_once_after_a_late_advance(const Backend& backend) {
  for (const Tick late : {Tick{1}, Tick{30}, Tick{511}, Tick{512}, Tick{5000}, Tick{1} << 20}) {
    AuditedQueue queue(backend, {.capacity = 64});
    for (TimerId id = 0; id < 64; ++id) queue.schedule(id, 1 + Tick{3} * id);
    queue.advance(10);
    queue.advance(10 + late);
    queue.advance(10 + 2 * late);
  }
}

void rounds_to_the_granularity_it_promises(const Backend& backend) {
  for (const Tick granularity : {Tick{2}, Tick{10}, Tick{100}, Tick{4096}, Tick{1} << 32}) {
    if (granularity > longest_jump(backend)) continue;
    for (const Tick start : {Tick{0}, Tick{1234}, Tick{1} << 32}) {
      AuditedQueue queue(backend, {.capacity = 32, .start = start, .granularity = granularity});
      Lcg random;
      for (TimerId id = 0; id < 32; ++id) {
        const Tick granules = random.below(40);
        queue.schedule(id, start + granules * granularity + random.below(granularity));
      }
      for (Tick step = 0; step <= 90; ++step) queue.advance(start + step * granularity / 2);
      require(queue.size() == 0, 2, "timers are left after the last deadline");
    }
  }
}

void a_pending_timer_moves(const Backend& backend) {
  for (const Tick first : {Tick{3}, Tick{30}, Tick{300}, Tick{30000}}) {
    for (const Tick second : {Tick{1}, Tick{3}, Tick{31}, Tick{512}, Tick{30000}, Tick{90000}}) {
      AuditedQueue queue(backend, {.capacity = 2});
      queue.schedule(0, first);
      queue.schedule(1, first);
      queue.schedule(0, second);
      queue.advance(std::min(first, second));
      queue.advance(std::max(first, second));
      queue.advance(200000);
    }
  }
}

void a_timer_moves_many_times_and_fires_once(const Backend& backend) {
  AuditedQueue queue(backend, {.capacity = 8});
  Tick now = 0;
  for (int i = 0; i < 300; ++i) {
    for (TimerId id = 0; id < 8; ++id) queue.schedule(id, now + Tick{100} * (id + 1));
    queue.advance(now += 7);
  }
  queue.advance(now + 1000);
  require(queue.total_fired() == 8, 3, "eight timers, each armed once and then moved");
}

void a_fired_timer_can_be_armed_again(const Backend& backend) {
  AuditedQueue queue(backend, {.capacity = 3});
  Tick now = 0;
  for (TimerId id = 0; id < 3; ++id) queue.schedule(id, now + 5 + id);
  for (int i = 0; i < 200; ++i) {
    queue.advance(++now);
    const std::vector<TimerId> fired = queue.fired();
    for (const TimerId id : fired) queue.schedule(id, now + 5 + Tick{60} * id);
  }
}

void cancel_is_true_exactly_once(const Backend& backend) {
  for (const Tick delay : {Tick{0}, Tick{1}, Tick{20}, Tick{600}, Tick{70000}}) {
    AuditedQueue queue(backend, {.capacity = 4});
    queue.cancel(3);  // never armed
    for (TimerId id = 0; id < 3; ++id) queue.schedule(id, delay);
    queue.cancel(1);
    queue.cancel(1);
    queue.advance(delay);
    queue.cancel(0);  // fired
    queue.schedule(1, delay + 9);
    queue.schedule(1, delay + 1);
    queue.cancel(1);  // moved
    queue.cancel(1);
    queue.advance(delay + 100);
  }
}

// More timers have one deadline than a segment or a node has room for, and others come between them
// and their neighbours.
void a_crowd_at_one_deadline_can_be_cancelled(const Backend& backend) {
  constexpr TimerId kCrowd = 200, kOthers = 100;
  for (const Tick deadline : {Tick{60}, Tick{70000}}) {
    AuditedQueue queue(backend, {.capacity = kCrowd + kOthers});
    Lcg random;
    const auto arm_others = [&] {
      for (TimerId id = kCrowd; id < kCrowd + kOthers; ++id) {
        queue.schedule(id, deadline - 20 + random.below(40));
      }
    };
    for (int round = 0; round < 3; ++round) {
      for (TimerId id = 0; id < kCrowd; ++id) queue.schedule(id, deadline);
      arm_others();
      for (TimerId id = 0; id < kCrowd; ++id) {
        if (random.below(3) != 0) queue.cancel(random.below(kCrowd));
      }
      arm_others();
    }
    for (Tick now = deadline - 21; now <= deadline + 20; ++now) queue.advance(now);
  }
}

void a_cancelled_population_leaves_nothing(const Backend& backend) {
  constexpr TimerId kTimers = 2000;
  AuditedQueue queue(backend, {.capacity = kTimers});
  Lcg random;
  for (int round = 0; round < 3; ++round) {
    for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, queue.now() + random.below(100000));
    for (TimerId i = 0; i < kTimers; ++i) queue.cancel((i * 1237) % kTimers);
    require(queue.next_wakeup() == kNever, 9, "a queue of cancelled timers still wants to wake up");
    queue.advance(queue.now() + 10000);
  }
  queue.advance(queue.now() + 1000000);
  require(queue.total_fired() == 0, 4, "cancelled timers fired");
}

// Each id is cancelled in one round, and left or moved in another; exactly the rest fires. In the
// last round all are due at once. The ids are large.
void a_large_population_is_kept(const Backend& backend) {
  constexpr TimerId kCapacity = 70'000;
  constexpr Tick kSpread = 1'000'000;
  const TimerId first = kCapacity - (backend.traits.remote ? 1000 : 20'000);
  const Patience patience;
  AuditedQueue queue(backend, {.capacity = kCapacity});
  Lcg random;
  for (const TimerId round : {0U, 1U, 2U}) {
    const Tick start = queue.now();
    const Tick spread = round < 2 ? kSpread : 1;
    const auto arm = [&](TimerId id) { queue.schedule(id, start + 1 + random.below(spread)); };
    for (TimerId id = first; id < kCapacity; ++id) {
      arm(id);
      if (patience.ended()) return;
    }
    for (TimerId id = first; id < kCapacity && round < 2; ++id) {
      if (patience.ended()) return;
      if (id % 2 == round) {
        queue.cancel(id);
      } else if (id % 3 == 0) {
        arm(id);
      }
    }
    for (Tick step = 1; step <= 8; ++step) queue.advance(start + step * kSpread / 7);
    require(queue.size() == 0, 2, "timers are left after the last deadline");
    for (TimerId id = first; id < kCapacity; ++id) queue.cancel(id);  // cancelled or fired before
  }
}

void past_deadlines_fire_at_the_next_advance(const Backend& backend) {
  AuditedQueue queue(backend, {.capacity = 8, .start = 1000});
  queue.schedule(0, 1000);
  queue.schedule(1, 999);
  queue.schedule(2, 0);
  queue.advance(1000);
  queue.schedule(3, 1000);
  queue.advance(1000);
  queue.schedule(4, 500);
  queue.schedule(5, 400);
  queue.schedule(6, 450);
  queue.cancel(5);
  queue.schedule(6, 1001);
  queue.schedule(7, 5000);
  queue.schedule(7, 1);
  queue.advance(1001);
  require(queue.size() == 0, 5, "a past deadline is still pending");
  queue.advance(10000);
  queue.schedule(0, 10000);
  queue.schedule(1, 3);
  queue.advance(10001);
}

void one_advance_fires_in_order(const Backend& backend) {
  constexpr TimerId kTimers = 3000;
  for (const Tick spread : {Tick{50}, Tick{3000}, Tick{1000000}}) {
    AuditedQueue queue(backend, {.capacity = kTimers});
    Lcg random;
    for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 1 + random.below(spread));
    queue.advance(spread / 3);
    queue.advance(spread);
  }
}

void far_deadlines_are_kept(const Backend& backend) {
  // 7 divides the largest tick, 10 does not; the last one is none of 32 bits.
  for (const Tick granularity : {Tick{1}, Tick{7}, Tick{10}, Tick{1} << 32}) {
    AuditedQueue queue(backend, {.capacity = 16, .granularity = granularity});
    TimerId id = 0;
    for (const Tick deadline : kFarDeadlines) queue.schedule(id++, deadline);
    queue.schedule(15, 3);
    queue.advance(5);
    queue.schedule(14, kNever - 1);
    queue.schedule(14, 10);
    queue.schedule(14, kNever - 1);
    queue.advance(1000000);
    if (longest_jump(backend) < kFarDeadlines.begin()[0]) continue;
    for (const Tick deadline : kFarDeadlines) {
      queue.advance(deadline - 1);
      queue.advance(deadline);
    }
    require(queue.size() == 0, 2, "timers are left at the end of time");
  }
}

void far_deadlines_can_be_cancelled(const Backend& backend) {
  AuditedQueue queue(backend, {.capacity = 16, .start = 100});
  for (int round = 0; round < 2; ++round) {
    TimerId id = 0;
    for (const Tick deadline : kFarDeadlines) queue.schedule(id++, deadline);
    while (id > 0) queue.cancel(--id);
  }
  queue.advance(std::min(longest_jump(backend), kNever - 1));
}

// Whether one of a few attempts takes less than `limit`, so that a busy machine does not fail a
// queue.
template <class Attempt>
bool can_be_done_within(std::chrono::microseconds limit, Attempt&& attempt) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (int i = 0; i < 20 && Clock::now() - begin < std::chrono::seconds(2); ++i) {
    const auto start = Clock::now();
    attempt();
    if (Clock::now() - start < limit) return true;
  }
  return false;
}

// The limit of two jumps with the calls around them. A server's calls alone may take a millisecond.
std::chrono::milliseconds limit_of_jumps(Tick jump, const Backend& backend) {
  const std::chrono::milliseconds calls(backend.traits.remote ? 10 : 1);
  return backend.traits.walks_ticks ? calls + std::chrono::milliseconds(2 * jump / 1000) : calls;
}

void require_quick_jumps(bool quick, Tick jump, const Backend& backend) {
  require(quick, 8,
          fmt::format("two jumps of {} ticks take more than {} ms", jump,
                      limit_of_jumps(jump, backend).count()));
}

void a_jump_costs_what_it_fires(const Backend& backend) {
  AuditedQueue queue(backend, {.capacity = 1});
  // Jumps grow, so that a queue that walks every tick fails before it takes minutes.
  for (const Tick most : {Tick{3'000'000}, Tick{300'000'000}, Tick{30'000'000'000}}) {
    const Tick jump = std::min(most, longest_jump(backend));
    const bool quick = can_be_done_within(limit_of_jumps(jump, backend), [&] {
      queue.schedule(0, queue.now() + 5);
      queue.advance(queue.now() + jump);
      queue.advance(queue.now() + jump);
    });
    require_quick_jumps(quick, jump, backend);
  }
}

// Jumps by around each power of two, with timers around their ends. Each jump must fire exactly
// those that are due.
void jumps_of_any_length_miss_nothing(const Backend& backend) {
  for (int bits = 20; bits <= 62; ++bits) {
    for (const Tick jump : {(Tick{1} << bits) - 1, Tick{1} << bits, (Tick{1} << bits) + 1}) {
      if (jump > longest_jump(backend)) return;
      AuditedQueue queue(backend, {.capacity = 5});
      const bool quick = can_be_done_within(limit_of_jumps(jump, backend), [&] {
        const Tick start = queue.now();
        if (start > kNever - 3 * jump) return;  // too late for another attempt
        queue.schedule(0, start + 5);
        queue.schedule(1, start + jump - 1);
        queue.schedule(2, start + jump);
        queue.schedule(3, start + jump + 1);
        queue.schedule(4, start + jump + jump / 7 + 9);  // the latest that any precision allows
        queue.advance(start + jump);
        queue.advance(start + 2 * jump);
      });
      require_quick_jumps(quick, jump, backend);
    }
  }
}

void time_does_not_run_backwards(const Backend& backend) {
  AuditedQueue queue(backend, {.capacity = 4, .start = 100});
  queue.schedule(0, 150);
  queue.advance(99);
  queue.advance(120);
  queue.advance(50);
  queue.schedule(1, 60);
  queue.advance(110);  // a no-op: the timer of the past stays pending
  queue.advance(149);
  queue.advance(0);
  queue.advance(150);
  // A queue may take less note of an advance() that has nothing to do.
  queue.schedule(2, 400);
  queue.advance(200);
  queue.advance(240);
  queue.schedule(3, 220);
  queue.advance(230);  // a no-op
  queue.advance(400);
}

void a_sleeping_driver_misses_nothing(const Backend& backend) {
  constexpr TimerId kTimers = 200;
  for (const Tick spread : {Tick{100}, Tick{5000}, Tick{10'000'000}}) {
    if (spread > longest_jump(backend)) continue;
    AuditedQueue queue(backend, {.capacity = kTimers});
    Lcg random;
    for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 1 + random.below(spread));
    for (TimerId id = 0; id < kTimers; id += 3) queue.cancel(id);
    for (TimerId id = 1; id < kTimers; id += 3) queue.schedule(id, 1 + random.below(2 * spread));
    for (Tick step = 1; step <= 10; ++step) queue.sleep_until(step * spread / 4);
    require(queue.size() == 0, 9, "timers are left after the last deadline");
  }
}

// The clock passes instants at which levels wrap. On its way it arms timers for shortly before and
// after them. Timers armed early wait on upper levels, those armed late on lower ones. At the
// powers of a wheel's radix all lower levels wrap together.
void levels_wrap_together(const Backend& backend) {
  const Tick reach = std::min(Tick{1} << 48, longest_jump(backend));
  Lcg random;
  for (const Tick radix : kRadices) {
    for (Tick wrap = radix; wrap <= reach; wrap *= radix) {
      for (int pass = 0; pass < (backend.traits.remote ? 1 : 6); ++pass) {
        const Tick start = pass % 2 == 0 ? 0 : wrap * random.below(100);
        AuditedQueue queue(backend, {.capacity = 32, .start = start});
        const Tick instant = start + wrap;
        TimerId id = 0;
        const auto arm = [&] {
          // Around the instant, or within the lowest level that starts there.
          const Tick offset = random.below(2) == 0 ? random.below(6) : random.below(radix);
          queue.schedule(id++, instant - 2 + offset);
        };
        for (Tick before = wrap; before > 0; before /= radix) {
          queue.sleep_until(std::max(queue.now(), instant - before));
          arm();
          if (random.below(2) == 0) arm();
        }
        for (const Tick at : {instant - 1, instant, instant + 1, instant + radix}) {
          queue.sleep_until(at);
          arm();
        }
        queue.sleep_until(instant + 2 * radix);
      }
    }
  }
}

void next_wakeup_does_not_walk_the_population(const Backend& backend) {
  constexpr TimerId kTimers = 50000;
  constexpr int kCalls = 50;
  LoggedQueue queue(backend, {.capacity = kTimers});
  for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, 1000 + id);
  queue.advance(1, [](TimerId, Tick) {});
  const bool quick = can_be_done_within(kCalls * std::chrono::microseconds(10), [&] {
    for (int i = 0; i < kCalls; ++i) {
      require(queue.next_wakeup() != kNever, 9, "next_wakeup() is kNever with timers pending");
    }
  });
  require(quick, 9, "next_wakeup() takes more than 10 us with 50 000 timers pending");
}

void the_first_and_last_id_work(const Backend& backend) {
  AuditedQueue none(backend, {.capacity = 0});
  none.advance(10);
  for (const TimerId capacity : {1U, 2U, 63U, 64U, 65U, 1000U}) {
    AuditedQueue queue(backend, {.capacity = capacity});
    queue.schedule(capacity - 1, 10);
    queue.schedule(0, 9);
    queue.advance(9);
    queue.cancel(capacity - 1);
    queue.schedule(capacity - 1, 30);
    queue.advance(30);
  }
}

void a_herd_fires_together(const Backend& backend) {
  constexpr TimerId kTimers = 3000;
  AuditedQueue queue(backend, {.capacity = kTimers});
  for (const Tick delay : {Tick{1}, Tick{1000}, Tick{100000}}) {
    const Tick deadline = queue.now() + delay;
    for (TimerId id = 0; id < kTimers; ++id) queue.schedule(id, deadline);
    queue.advance(deadline - 1);
    queue.advance(deadline);
    queue.advance(deadline + delay / 7);  // the latest that any precision allows
    require(queue.size() == 0, 2, "part of a herd did not fire");
  }
}

// So many that a queue which works ahead in parts, or takes away in parts what is out of date, does
// both: nearly all are moved to before their deadline, some are cancelled and armed again, and the
// clock passes tick by tick where they are dense.
void thousands_move_and_are_on_time(const Backend& backend) {
  constexpr TimerId kTimers = 6'000;
  constexpr Tick kDense = 1'500, kFar = 1'000'000;
  const Patience patience;
  AuditedQueue queue(backend, {.capacity = kTimers});
  Lcg random;
  for (const Tick dense : {kDense, 60 * kDense}) {
    for (const Tick ahead : {kFar, kFar / 3, kFar / 20, Tick{300}}) {
      for (TimerId id = 0; id < kTimers; ++id) {
        if (random.below(8) == 0) queue.cancel(id);
        if (random.below(8) != 0) queue.schedule(id, queue.now() + ahead + random.below(dense));
        if (patience.ended()) return;
      }
    }
    const Tick step = dense / kDense;
    for (const Tick end = queue.now() + 300 + dense; queue.now() < end;) {
      queue.advance(queue.now() + step);
      // Few are armed meanwhile, each for the end of what is dense, and soon moved again.
      queue.schedule(static_cast<TimerId>(random.below(kTimers)), end + random.below(dense));
      if (patience.ended()) return;
    }
    queue.advance(queue.now() + 2 * kFar);
    require(queue.size() == 0, 2, "timers are left after the last deadline");
  }
}

// A queue may count the armings of an id to know its latest entry. It must not take an old entry
// for it after the counter wraps. Old entries stay while enough others are pending. Nor may it lose
// an arming, whatever its number.
void one_id_is_armed_often(const Backend& backend) {
  const Patience patience;
  constexpr Tick kFar = 1'000'000;
  for (const TimerId round : {TimerId{1} << 8, TimerId{1} << 16}) {
    if (backend.traits.remote && round > 256) return;
    const TimerId others = round + 100;
    AuditedQueue queue(backend, {.capacity = others + 2});
    for (TimerId id = 1; id <= others; ++id) {
      queue.schedule(id, kFar + id);
      if (patience.ended()) return;
    }
    // First by moves alone, then with a cancel before each arming, which may count twice.
    for (const bool cancels : {false, true}) {
      const Tick soon = queue.now() + 10;
      queue.schedule(others + 1, soon - 5);  // keeps the queue from dropping old entries
      for (TimerId i = 0; i < round + 2; i += cancels ? 2 : 1) {
        if (cancels) queue.cancel(0);
        queue.schedule(0, i < 4 ? soon + i : kFar);
        if (patience.ended()) return;
      }
      queue.advance(soon + 100);
    }
    for (TimerId i = 0; i < round + round / 2; ++i) {  // 3 * round armings together
      queue.schedule(0, kFar);
      if (patience.ended()) return;
    }
    queue.advance(kFar + kFar / 7 + others);
  }
}

// Ids with equal low 16 bits are different ids.
void ids_beyond_16_bits_work(const Backend& backend) {
  constexpr TimerId kIds[] = {0, 1, 4463, 65535, 65536, 65537, 69999};
  AuditedQueue queue(backend, {.capacity = 70'000});
  for (const TimerId id : kIds) queue.schedule(id, 10 + id);
  queue.cancel(65536);
  queue.cancel(4463);
  queue.schedule(1, 5);
  queue.advance(5);
  queue.schedule(65536, 20);
  queue.advance(30);
  queue.advance(100'000);
  require(queue.size() == 0, 2, "timers are left after the last deadline");
  for (const TimerId id : kIds) queue.cancel(id);  // fired
}

// Ids with equal low 24 bits are different ids, too. Not under audit, which would double the memory
// for so many ids. A queue without memory for them passes.
void ids_beyond_24_bits_work(const Backend& backend) {
  constexpr TimerId kBeyond = 1U << 24;
  std::optional<LoggedQueue> made;
  try {
    made.emplace(backend, QueueConfig{.capacity = kBeyond + 2});
  } catch (const std::bad_alloc&) {
    return;
  }
  LoggedQueue& queue = *made;
  const auto deadline_of = [](TimerId id) { return Tick{1000} + id % 1000; };
  for (const TimerId id : {0U, 1U, kBeyond - 1, kBeyond, kBeyond + 1}) {
    queue.schedule(id, deadline_of(id));
  }
  require(queue.size() == 5, 3, "of five ids around 2^24 some are the same");
  require(queue.cancel(kBeyond), 4, "a timer with an id beyond 2^24 cannot be cancelled");
  require(!queue.cancel(kBeyond), 4, "a timer with an id beyond 2^24 can be cancelled twice");
  std::vector<TimerId> fired;
  queue.advance(10'000, [&](TimerId id, Tick deadline) {
    require(deadline == deadline_of(id), 3,
            fmt::format("timer {} fired for deadline {}", id, deadline));
    fired.push_back(id);
  });
  std::ranges::sort(fired);
  require(fired == std::vector<TimerId>{0, 1, kBeyond - 1, kBeyond + 1}, 3,
          fmt::format("of ids around 2^24 the wrong ones fired: {}", fmt::join(fired, ", ")));
}

void two_queues_do_not_disturb_each_other(const Backend& backend) {
  AuditedQueue a(backend, {.capacity = 4});
  AuditedQueue b(backend, {.capacity = 4, .start = 50});
  for (TimerId id = 0; id < 4; ++id) {
    a.schedule(id, 60 + id);
    b.schedule(id, 70 - id);
  }
  a.cancel(0);
  b.advance(100);
  a.advance(100);
}

constexpr ContractScenario kContract[] = {
    // First, since a queue that walks every tick would take minutes in the others.
    {"rule_8_jump", a_jump_costs_what_it_fires},
    {"rule_8_jump_lengths", jumps_of_any_length_miss_nothing},
    {"rule_1_never_early", fires_at_its_deadline_and_not_before},
    {"rule_2_on_time", fires_on_time_when_stepped_tick_by_tick},
    {"rule_2_late_advance", fires_once_after_a_late_advance},
    {"rule_2_granularity", rounds_to_the_granularity_it_promises},
    {"rule_2_herd", a_herd_fires_together},
    {"rule_3_move", a_pending_timer_moves},
    {"rule_3_move_often", a_timer_moves_many_times_and_fires_once},
    {"rule_3_rearm", a_fired_timer_can_be_armed_again},
    {"rule_3_ids", the_first_and_last_id_work},
    {"rule_3_ids_beyond_16_bits", ids_beyond_16_bits_work},
    {"rule_3_arm_often", one_id_is_armed_often},
    {"rule_3_two_queues", two_queues_do_not_disturb_each_other},
    {"rule_4_cancel", cancel_is_true_exactly_once},
    {"rule_4_cancel_crowd", a_crowd_at_one_deadline_can_be_cancelled},
    {"rule_4_cancel_all", a_cancelled_population_leaves_nothing},
    {"rule_4_population", a_large_population_is_kept},
    {"rule_5_past", past_deadlines_fire_at_the_next_advance},
    {"rule_6_order", one_advance_fires_in_order},
    {"rule_7_far", far_deadlines_are_kept},
    {"rule_7_far_cancel", far_deadlines_can_be_cancelled},
    {"rule_8_backwards", time_does_not_run_backwards},
    {"rule_9_wakeup", a_sleeping_driver_misses_nothing},
    {"rule_9_levels_wrap", levels_wrap_together},
    {"rule_9_cost", next_wakeup_does_not_walk_the_population},
    // Late, since the others tell a bug with fewer calls.
    {"rule_2_thousands", thousands_move_and_are_on_time},
    // Last, since it takes memory.
    {"rule_3_ids_beyond_24_bits", ids_beyond_24_bits_work},
};

}  // namespace

std::span<const ContractScenario> contract() { return kContract; }

}  // namespace timerbench
