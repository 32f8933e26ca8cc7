// What a backend throws when something outside the process fails.
#pragma once

#include <stdexcept>

namespace timerbench {

// It worked and then failed: a lost connection, a refused command. The text names the server and
// says what to do; the cell is reported as `error`.
struct BackendError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// It cannot be used on this machine: no server, no permission. Reported as `unavailable`.
struct BackendUnavailable : BackendError {
  using BackendError::BackendError;
};

// A server that has answered before does not start again: that tells of it, not of this machine.
struct DoesNotStartAgain : BackendUnavailable {
  using BackendUnavailable::BackendUnavailable;
};

// It has come to a limit of the system, such as the number of open files. That is a result,
// reported as `limit`. The text names the limit, and how to raise it.
struct BackendLimit : BackendError {
  using BackendError::BackendError;
};

}  // namespace timerbench
