// What happened to each timer, told by the clients at the time, and kept outside the queue: in memory
// that the processes share. So it is there whatever happens to them, or to the engine.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "durable/durable_queue.h"

namespace timerbench {

enum class Happening : std::uint8_t {
  nothing,        // a client was killed before it had written the entry
  asked,          // schedule() was called; the entry has the deadline
  armed,          // it returned: acknowledged
  unarmed,        // it threw
  cancelling,     // cancel() was called
  cancelled,      // it returned true
  not_cancelled,  // it returned false: the timer was not there
  claimed,        // a worker was handed the timer
  fired,          // its handler has begun
  completing,     // complete() was called
  completed,      // it said that the worker still held the timer
  not_completed,  // it said that the worker did not
  fault,          // a strike: what breaks begins to; `id` and `deadline` mean nothing
  mended,         // nothing is broken any more, until the next strike
  given_up,       // nobody was told in time whether the queue holds more
};

struct LedgerEntry {
  DurableId id;
  Tick when;      // nanoseconds since 1970
  Tick deadline;  // of Happening::asked
  std::atomic<Happening> what;
};

class SurvivalLedger {
 public:
  // Entries, enough for an hour; pages that are not used cost nothing.
  static constexpr std::size_t kCapacity = std::size_t{1} << 24;

  // Throws std::system_error.
  SurvivalLedger();
  ~SurvivalLedger();
  SurvivalLedger(const SurvivalLedger&) = delete;
  SurvivalLedger& operator=(const SurvivalLedger&) = delete;

  // Any thread of any process that was forked since. Throws std::length_error if it is full.
  void add(Happening what, DurableId id = 0, Tick deadline = 0);

  // An id that nobody else has.
  DurableId new_id() { return shared_->next_id.fetch_add(1, std::memory_order_relaxed); }

  // The entries so far, in order of time as far as one client is concerned.
  std::size_t size() const;
  const LedgerEntry& operator[](std::size_t i) const { return entries_[i]; }

 private:
  struct Shared {
    std::atomic<std::size_t> size = 0;
    std::atomic<DurableId> next_id = 1;
  };

  void* memory_;  // holds the two
  Shared* shared_;
  LedgerEntry* entries_;
};

}  // namespace timerbench
