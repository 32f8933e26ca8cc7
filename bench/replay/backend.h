// The backends as values, so that a program can choose one by name.
//
// A virtual call costs 1-2 ns on operations of 2-10 ns, so timed code is a whole replay, compiled
// for each backend. Untimed code (checks, recordings) uses AnyQueue.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/timer_queue.h"
#include "replay/memory.h"
#include "replay/tails.h"
#include "system/disturbance.h"
#include "system/perf_counters.h"
#include "system/stop.h"
#include "trace/op.h"
#include "trace/outcome.h"

namespace timerbench {

class ProcessPeer;

using AnySink = std::function<void(TimerId, Tick)>;

// A timer queue behind virtual calls. Its contract is TimerQueue's.
class AnyQueue {
 public:
  virtual ~AnyQueue() = default;
  virtual void schedule(TimerId id, Tick deadline) = 0;
  virtual bool cancel(TimerId id) = 0;
  virtual std::size_t advance(Tick now, const AnySink& sink) = 0;
  virtual Tick next_wakeup() const = 0;
  virtual std::size_t size() const = 0;
  virtual void sync() = 0;  // does nothing, unless the queue has a sync()
};

struct TimedReplay {
  Outcome outcome;                     // of all operations, setup included
  std::chrono::nanoseconds elapsed{};  // of the measured operations
  Disturbance disturbance{};           // of the measured operations
  bool stopped = false;                // before the end: the figures are invalid
};

struct Backend {
  Traits traits;
  std::function<std::unique_ptr<AnyQueue>(const QueueConfig&)> make{};
  // A new queue replays the setup. Then the clock, and the counters if given, run for the measured
  // operations; the time excludes reading the counters.
  std::function<TimedReplay(const QueueConfig&, std::span<const Op> setup,
                            std::span<const Op> measured, const StopFlag&, PerfCounters*)>
      time_replay{};

  // The replays of the other passes; see tails.h and memory.h.
  std::function<Tails(const QueueConfig&, std::span<const Op> setup, std::span<const Op> measured,
                      LeastTimes& least, const StopFlag&)>
      replay_tails{};
  std::function<MemoryUse(const QueueConfig&, std::span<const Op> setup,
                          std::span<const Op> measured, const StopFlag&)>
      replay_memory{};

  // Of a contender that is another program, which only replays whole traces; the functions above are
  // empty then.
  std::shared_ptr<const ProcessPeer> process{};

  bool is_control() const { return traits.precision == Precision::none; }
};

// Throws std::logic_error if two of them have the same name.
void check_names(std::span<const Backend> backends);

// Adds a contender that is another program. REQUIRES: called before backends().
void add_process(std::shared_ptr<const ProcessPeer> process);

// The backends of the roster and those of TIMERBENCH_EXTRA_BACKENDS, in roster order, and the other
// programs. Throws what check_names() does.
std::span<const Backend> backends();

}  // namespace timerbench
