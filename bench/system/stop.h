// Ends long work early: after a time limit, or when the user presses Ctrl-C.
#pragma once

#include <time.h>

#include <atomic>
#include <stdexcept>

namespace timerbench {

// Set by a signal handler. A replay polls it at every advance().
using StopFlag = std::atomic<bool>;
static_assert(StopFlag::is_always_lock_free);

// The signals that end a program (SIGINT, SIGTERM, SIGHUP; SIGPIPE for a closed output) set
// interrupted(), unless the program was started with them ignored. A second signal ends it at once.
// A file that grows beyond the limit becomes an ordinary write error.
void handle_signals();

// Whether the user wants the program to end. All long work polls it.
const StopFlag& interrupted();

// Thrown by code that makes or reads traces when interrupted() is set.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted; nothing was written") {}
};
inline void throw_if_interrupted() {
  if (interrupted().load(std::memory_order_relaxed)) throw Interrupted();
}

// Sets stop() after some seconds, or on interruption. Only one may exist at a time. Throws
// std::system_error if the kernel has no timer left.
class TimeLimit {
 public:
  // Of this process's own processor time, what other programs take does not count. Whatever waits
  // for another process is limited by wall time.
  enum class Of { processor_time, wall_time };

  TimeLimit(double seconds, Of of);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  const StopFlag& stop() const;

 private:
  timer_t timer_;
};

}  // namespace timerbench
