// Logs the last calls of the queues under audit, which led to a wrong answer, a crash or a hang.
//
// It is plain memory, so that a process can share it with one that watches it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "core/timer_queue.h"

namespace timerbench {

class CallLog {
 public:
  enum class Kind : std::uint8_t { make, schedule, cancel, advance, sync, size, next_wakeup };

  // Begins to make a queue; its calls are numbered from here on.
  void begin_make(const QueueConfig& config);
  void begin(Kind kind, TimerId id = 0, Tick at = 0);
  // Records the answer of the last call that was begun.
  void end(std::uint64_t answer = 0);

  // How many calls have begun so far. It stands still when the queue hangs.
  std::uint64_t total() const { return total_.load(std::memory_order_relaxed); }

  // The last calls with their answers, a line each. Empty if there was none.
  std::string text() const;

 private:
  struct Call {
    Kind kind;
    bool has_ended;
    TimerId id;
    Tick at;
    std::uint64_t answer;

    // An observer changes nothing and follows every other call, so it is kept only as the last
    // call.
    bool observes() const { return kind >= Kind::sync; }
  };

  static constexpr std::uint64_t kKept = 8;

  std::string to_text(const Call& call) const;
  Call& last() { return calls_[(size_ - 1) % kKept]; }

  QueueConfig config_{};             // of the queue made last
  std::uint64_t size_ = 0;           // calls since then, without observers
  std::array<Call, kKept> calls_{};  // call number n at n % kKept
  std::atomic<std::uint64_t> total_ = 0;
};

// The log of this process's queues.
CallLog& call_log();
void use_call_log(CallLog& log);

}  // namespace timerbench
