// A control: one_store that first reads what it overwrites, as any queue does that says whether a
// timer was pending.
//
// A store leaves its line to the store buffer, and the processor goes on. A load keeps its place
// among the instructions in flight until the line is there, so fewer misses overlap.
//
// Invariants: those of one_store.
//
// Cost:
//   schedule, cancel O(1): one load and one store, 1 line
//   advance nothing
//   8 bytes a timer
//
// Good: beside one_store it shows what it costs to know whether a timer was pending.
// Bad: it fires nothing, so it is never ranked.
// Follows: one_store.
#pragma once

#include "queues/one_store.h"

namespace timerbench {

class OneStoreWithReads : public OneStore {
 public:
  static constexpr Traits traits{.name = "one_store_with_reads",
                                 .summary = "reads the deadline in an array, and overwrites it",
                                 .precision = Precision::none,
                                 .ordered = false,
                                 .paper = ""};

  using OneStore::OneStore;

  void schedule(TimerId id, Tick deadline) {
    read(id);
    OneStore::schedule(id, deadline);
  }

  bool cancel(TimerId id) {
    read(id);
    return OneStore::cancel(id);
  }

 private:
  void read(TimerId id) { asm volatile("" : : "r"(deadlines_[id])); }
};
static_assert(TimerQueue<OneStoreWithReads>);

}  // namespace timerbench
