// How a command ends that does not end well.
#pragma once

#include <stdexcept>

namespace timerbench {

inline constexpr int kFailure = 1;  // exit codes
inline constexpr int kUsage = 2;

// The user asked for something that is not there: exit code 2. The text is one line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What is to be said has been said, such as which backend breaks the contract: an exit code without
// a further word.
struct CommandFailed {
  int code = kFailure;
};

}  // namespace timerbench
