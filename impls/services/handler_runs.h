// Runs of the handler: counts what it throws, and lets stop() wait until all runs have ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "core/timer_queue.h"
#include "services/timer_service.h"

namespace timerbench {

// REQUIRES: outlives the threads in which it runs anything.
class HandlerRuns {
 public:
  explicit HandlerRuns(FireHandler handler) : handler_(std::move(handler)) {}

  // Announces a run. The caller holds the lock under which it saw that the service is not stopped,
  // so that a thread that stops the service and then calls await_end() waits for this run too.
  void begin() { running_.fetch_add(1); }

  // Takes back the announcement of a run that will not happen.
  void end() {
    if (running_.fetch_sub(1) == 1) running_.notify_all();
  }

  // Does the run that begin() announced, under no lock. Returns whether the handler returned, that
  // is, did not throw.
  bool run(const PendingTimer& timer) {
    Run run{.of = this};
    current_run = &run;
    bool returned = true;
    try {
      handler_(timer.id, timer.deadline);
    } catch (...) {
      failures_.fetch_add(1);
      returned = false;
    }
    current_run = nullptr;
    if (run.awaited) end();
    return returned;
  }

  // Returns when no run is left, except those that have called this themselves.
  void await_end() {
    if (current_run && current_run->of == this && std::exchange(current_run->awaited, false)) end();
    for (auto n = running_.load(); n > 0; n = running_.load()) running_.wait(n);
  }

  // How many runs threw.
  std::uint64_t failures() const { return failures_.load(); }

 private:
  struct Run {
    const HandlerRuns* of;
    bool awaited = true;  // by await_end()
  };
  static inline thread_local Run* current_run = nullptr;  // what this thread is running

  const FireHandler handler_;
  std::atomic<std::uint32_t> running_ = 0;
  std::atomic<std::uint64_t> failures_ = 0;
};

}  // namespace timerbench
