// Runs of the handler: counts what it throws, and lets stop() wait until all runs have ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "core/timer_queue.h"
#include "services/timer_service.h"

namespace timerbench {

// How many run, for a thread that waits until none does. REQUIRES: outlives the threads that run.
class RunCount {
 public:
  void begin() { running_.fetch_add(1); }
  void end() {
    if (running_.fetch_sub(1) == 1) running_.notify_all();
  }
  void await_none() {
    for (auto n = running_.load(); n > 0; n = running_.load()) running_.wait(n);
  }

 private:
  std::atomic<std::uint32_t> running_ = 0;
};

// REQUIRES: outlives the threads in which it runs anything.
class HandlerRuns {
 public:
  explicit HandlerRuns(FireHandler handler) : handler_(std::move(handler)) {}

  // Announces a run. The caller holds the lock under which it saw that the service is not stopped,
  // so that a thread that stops the service and then calls await_end() waits for this run too.
  void begin() { running_.begin(); }

  // Takes back the announcement of a run that will not happen.
  void end() { running_.end(); }

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
    running_.await_none();
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
  RunCount running_;
  std::atomic<std::uint64_t> failures_ = 0;
};

}  // namespace timerbench
