// Asking whatever takes long to end early: a time limit has passed, or the user pressed Ctrl-C.
#pragma once

#include <atomic>
#include <stdexcept>

namespace timerbench {

// Set from a signal handler; polled by the replay at every advance().
using StopFlag = std::atomic<bool>;
static_assert(StopFlag::is_always_lock_free);

// Makes the signals that would end the program (SIGINT, SIGTERM, SIGHUP; SIGPIPE: nobody reads its
// output any more) set interrupted(), unless it was started with them ignored. A second one ends it
// at once. A file that grows too large becomes an ordinary error of the write.
void handle_signals();

// Whether the user wants the program to end; to be polled by all that takes long.
const StopFlag& interrupted();

// Thrown by what makes or reads traces when interrupted() is set.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted; nothing was written") {}
};
inline void throw_if_interrupted() {
  if (interrupted().load(std::memory_order_relaxed)) throw Interrupted();
}

// Sets a flag after some seconds of wall time, or when the program is interrupted. One at a time.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  const StopFlag& stop() const;
};

}  // namespace timerbench
