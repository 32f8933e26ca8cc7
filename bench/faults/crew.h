// Producers and workers of a durable queue that can be killed and replaced at any time, and tell a
// ledger what they do.
//
// Each is a process of its own. If one process has the queue alone, that process has a thread for
// each, and they die together.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "durable/engine.h"
#include "durable/worker.h"
#include "faults/survival_ledger.h"

namespace timerbench {

// Of the queues of a crew: short, so that a fault that swallows answers is felt.
inline constexpr std::chrono::milliseconds kClientPatience{300};

enum class Handlers : std::uint8_t {
  quick,
  busy,            // slower than timers fall due, so that workers hold some nearly always
  outlast_leases,  // now and then
};

struct CrewPlan {
  std::string queue;
  std::uint64_t seed;
  Delivery delivery;
  Tick lease;
  Tick longest_delay;  // of a timer
  Handlers handlers;
  // A producer rests so long after each timer that was acknowledged.
  std::chrono::nanoseconds between_timers = std::chrono::milliseconds(3);
  std::size_t payload = 7;  // bytes
};

class Crew {
 public:
  static constexpr std::size_t kProducers = 2, kWorkers = 2;

  // Starts all. The ledger and the engine outlive it. Throws std::system_error. REQUIRES: this
  // process has one thread.
  Crew(DurableEngine& engine, SharedBy shared_by, CrewPlan plan, SurvivalLedger& ledger);
  // Kills all.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // As by kill -9, and starts another in its place. If they are in one process, all are replaced.
  // Returns whether the producer was asking when it died.
  bool replace_producer(std::size_t i);
  void replace_worker(std::size_t i);

  // Whether the producer has called schedule(), which has not returned.
  bool is_asking(std::size_t producer) const { return shared_->is_asking[producer]; }

  // All: SIGSTOP, and SIGKILL. Return when they have stopped, and ended.
  void stop();
  void kill();
  // Starts all anew. REQUIRES: they were killed.
  void start();

  // They arm no more timers. Their last calls may still wait for an answer.
  void end_producers() { shared_->produces.store(false, std::memory_order_relaxed); }
  // How often, since end_producers(), a worker was answered that the queue holds nothing.
  std::uint64_t empty_answers() const { return shared_->empty_answers.load(); }
  // What went wrong in the first client that failed: what it has said, or how it ended if the crew has
  // not ended it. Empty: none has failed so far.
  std::string failure();
  // Workers end too; who only waits for something to do is killed, so that nobody waits for it, and
  // so is who has not ended in time. Returns failure(), or that a client did not end.
  std::string end();

 private:
  struct Shared {
    std::atomic<bool> produces = true;
    std::atomic<bool> works = true;
    std::atomic<std::uint64_t> empty_answers = 0;
    std::atomic<bool> is_failing = false;
    std::atomic<bool> has_failed = false;  // the error is there
    char error[400] = {};
    std::array<std::atomic<bool>, kProducers> is_asking{};
    // When a worker has last returned from all its calls; kNever: the client has ended.
    std::array<std::atomic<Tick>, kProducers + kWorkers> returned{};
  };

  bool are_processes() const { return shared_by_ != SharedBy::threads; }
  std::size_t processes() const { return are_processes() ? kProducers + kWorkers : 1; }
  bool is_in_no_call(std::size_t process) const;
  void launch(std::size_t process);
  void kill(std::size_t process);
  void run_client(std::size_t client, std::uint64_t seed);
  void produce(DurableQueue& queue, std::size_t client, std::uint64_t seed);
  void work(DurableQueue& queue, std::size_t client, std::uint64_t seed);
  void count_if_empty(DurableQueue& queue);
  void report_end(int status, bool was_killed);
  void report(const char* error);

  DurableEngine& engine_;
  const SharedBy shared_by_;
  const CrewPlan plan_;
  SurvivalLedger& ledger_;
  Shared* shared_;                // with all processes
  std::vector<pid_t> running_{};  // 0: none
  std::uint64_t launches_ = 0;    // so that each has a seed of its own
};

}  // namespace timerbench
