// Asking a replay to end before its trace does: a time limit has passed, or the user pressed Ctrl-C.
#pragma once

#include <atomic>

namespace timerbench {

// Set from a signal handler; polled by the replay at every advance().
using StopFlag = std::atomic<bool>;
static_assert(StopFlag::is_always_lock_free);

// Makes SIGINT and SIGTERM set interrupted(). A second one ends the program at once.
void stop_on_signals();

// Whether the user wants the program to end; to be polled by all that takes long.
const StopFlag& interrupted();

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
