// The memory pass: counts what a queue takes while it replays a trace: its object, which is made on
// the heap for that, and what it allocates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "core/timer_queue.h"
#include "replay/replay.h"
#include "system/allocations.h"
#include "trace/op_store.h"

namespace timerbench {

// All bytes are relative to the memory in use before the queue was made.
struct MemoryUse {
  Outcome outcome;                    // of all operations, setup included
  std::uint64_t empty = 0;            // of a new queue
  std::uint64_t peak = 0;             // the most at any time
  std::uint64_t most_pending = 0;     // the most timers pending at a time
  std::uint64_t at_most_pending = 0;  // bytes at that time
  std::uint64_t drained = 0;          // after all timers were cancelled at the end
  std::uint64_t made = 0;             // allocations by the measured operations
  std::uint64_t resident = 0;         // the most that the kernel gave
  std::uint64_t huge = 0;             // in pages of 2 MiB, of the whole process
  std::uint64_t resident_drained = 0;
  bool stopped = false;
};

// REQUIRES: allocations_are_counted().
template <TimerQueue Queue>
MemoryUse replay_memory(const QueueConfig& config, std::span<const Op> setup,
                        std::span<const Op> measured, const StopFlag& stop) {
  constexpr std::size_t kBlock = 1024;  // operations between two checks of the number pending
  const std::uint64_t before = allocations().bytes;
  const std::uint64_t resident_before = resident_bytes();
  MemoryUse use;
  reset_allocation_peak();
  const auto owner = std::make_unique<Queue>(config);
  Queue& queue = *owner;
  use.empty = growth(before, allocations().bytes);
  Tick now = config.start;
  const auto look = [&] {
    if (queue.size() < use.most_pending) return;
    use.most_pending = queue.size();
    use.at_most_pending = std::max(use.at_most_pending, growth(before, allocations().bytes));
  };
  const auto replay_all = [&](std::span<const Op> ops) {
    for_each_window(ops, [&](std::span<const Op> window) {
      while (!window.empty() && !stop.load()) {
        const auto block = window.first(std::min(kBlock, window.size()));
        window = window.subspan(block.size());
        use.outcome += replay(queue, block, now, stop);
        look();
      }
    });
  };
  replay_all(setup);
  const std::uint64_t made_before = allocations().made;
  replay_all(measured);
  use.made = allocations().made - made_before;
  sync(queue);
  use.peak = growth(before, allocations().peak);
  use.resident = growth(resident_before, resident_bytes());
  use.huge = huge_page_bytes();
  for (TimerId id = 0; id < config.capacity && !stop.load(); ++id) queue.cancel(id);
  sync(queue);
  use.drained = growth(before, allocations().bytes);
  use.resident_drained = growth(resident_before, resident_bytes());
  use.stopped = stop.load();
  return use;
}

}  // namespace timerbench
