// The last calls of the queues under audit: what led to a wrong answer, a crash or a hang.
//
// Plain memory, so that a process that watches another can share it.
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

  // A queue is made: the calls are numbered from here on.
  void begin_make(const QueueConfig& config);
  void begin(Kind kind, TimerId id = 0, Tick at = 0);
  // The call that was begun last has answered this.
  void end(std::uint64_t answer = 0);

  // How many calls have begun so far, which tells whether anything happens.
  std::uint64_t total() const { return total_.load(std::memory_order_relaxed); }

  // The last calls with their answers, a line each. No lines if there was none.
  std::string text() const;

 private:
  struct Call {
    Kind kind;
    bool has_ended;
    TimerId id;
    Tick at;
    std::uint64_t answer;

    // It changes nothing, and is asked after each that does: kept only while it is the last.
    bool observes() const { return kind >= Kind::sync; }
  };

  static constexpr std::uint64_t kKept = 8;

  std::string to_text(const Call& call) const;
  Call& last() { return calls_[(size_ - 1) % kKept]; }

  QueueConfig config_{};             // of the queue that was made last
  std::uint64_t size_ = 0;           // calls since then, but for observers
  std::array<Call, kKept> calls_{};  // call number n at n % kKept
  std::atomic<std::uint64_t> total_ = 0;
};

// Where the queues of this process log.
CallLog& call_log();
void use_call_log(CallLog& log);

}  // namespace timerbench
