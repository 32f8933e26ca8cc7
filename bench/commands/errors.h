// How a command reports failure.
#pragma once

#include <stdexcept>

namespace timerbench {

inline constexpr int kFailure = 1;  // exit codes
inline constexpr int kUsage = 2;

// The user asked for something that does not exist: exit code 2. The text is one line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The command has already printed what went wrong, such as which backend breaks the contract. Only
// the exit code is left.
struct CommandFailed {
  int code = kFailure;
};

}  // namespace timerbench
