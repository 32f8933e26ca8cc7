// Makes a Backend from a TimerQueue. Every backend's code is instantiated here.
#pragma once

#include "replay/backend.h"
#include "replay/replay.h"
#include "system/mapped_file.h"

namespace timerbench {

template <TimerQueue Queue>
class Erased final : public AnyQueue {
 public:
  explicit Erased(const QueueConfig& config) : queue_(config) {}

  void schedule(TimerId id, Tick deadline) override { queue_.schedule(id, deadline); }
  bool cancel(TimerId id) override { return queue_.cancel(id); }
  std::size_t advance(Tick now, const AnySink& sink) override { return queue_.advance(now, sink); }
  Tick next_wakeup() const override { return queue_.next_wakeup(); }
  std::size_t size() const override { return queue_.size(); }
  void sync() override { timerbench::sync(queue_); }

 private:
  Queue queue_;
};

// A separate function, so that tools can count its events: callgrind's --toggle-collect names it.
template <TimerQueue Queue>
[[gnu::noinline]] Outcome measured_replay(Queue& queue, std::span<const Op> ops, Tick& now,
                                          const StopFlag& stop) {
  return replay(queue, ops, now, stop);
}

template <TimerQueue Queue>
TimedReplay time_replay(const QueueConfig& config, std::span<const Op> setup,
                        std::span<const Op> measured, const StopFlag& stop,
                        PerfCounters* counters) {
  using Clock = std::chrono::steady_clock;
  // To map a page may take longer than to replay the operations on it.
  touch_pages(measured.data(), measured.size_bytes());
  Queue queue(config);
  Tick now = config.start;
  Outcome outcome = replay(queue, setup, now, stop);
  sync(queue);
  const DisturbanceMeter meter;
  if (counters != nullptr) counters->start();
  const auto start = Clock::now();
  const Outcome measured_outcome = measured_replay(queue, measured, now, stop);
  sync(queue);
  const auto elapsed = Clock::now() - start;
  if (counters != nullptr) counters->stop();
  const Disturbance disturbance = meter.stop();
  outcome += measured_outcome;
  return {outcome, elapsed, disturbance, stop.load()};
}

template <TimerQueue Queue>
Backend make_backend() {
  return {.traits = Queue::traits,
          .make = [](const QueueConfig& config) -> std::unique_ptr<AnyQueue> {
            return std::make_unique<Erased<Queue>>(config);
          },
          .time_replay = time_replay<Queue>,
          .replay_tails = replay_tails<Queue>,
          .replay_memory = replay_memory<Queue>};
}

}  // namespace timerbench
