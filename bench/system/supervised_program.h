// Another program, and all that it starts: all of it ends with this object, whatever happens.
//
// A supervisor process stands between. It is the reaper of all that the program starts, so that what
// the program leaves behind becomes its child. When the program has ended, when it is told to, or when
// this process has ended, even by SIGKILL, it kills them all.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "system/stop.h"

namespace timerbench {

// The program did not do what it must. The text begins with "timeout" or "error".
struct ProgramFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class SupervisedProgram {
 public:
  using Clock = std::chrono::steady_clock;

  // Starts arguments[0] with these arguments, without input. A file that it writes may have
  // `most_file_bytes`; a larger one is refused by the system. All that it writes beside its output
  // may have four times as much, which must be free in the folders for temporary files and the
  // current one, and 1 000 of its processes may live at a time. Throws std::system_error if no
  // process can be started. REQUIRES: this process has one thread.
  SupervisedProgram(const std::vector<std::string>& arguments, std::uint64_t most_file_bytes);
  ~SupervisedProgram();
  SupervisedProgram(const SupervisedProgram&) = delete;
  SupervisedProgram& operator=(const SupervisedProgram&) = delete;

  // Returns the next line of its output without its end, or nothing when the program has ended well.
  // Throws ProgramFailure if it has ended otherwise, if the line is too long, if there is no line
  // within `patience`, if it has written too much or started too many, or if there is not enough
  // room; Interrupted when `stop` is set.
  std::optional<std::string> next_line(std::chrono::duration<double> patience,
                                       const StopFlag& stop);

 private:
  // Reads what there is, and waits for it up to `until`. Returns whether there may be more.
  bool listen(Clock::time_point until);
  std::optional<std::string> take_line(bool has_ended);
  void look_at_processes();
  void refuse_too_much(std::uint64_t written) const;
  void end();
  [[noreturn]] void fail_by_status();

  const std::uint64_t most_bytes_;  // that it may write, beside its output
  pid_t supervisor_ = 0;
  int output_ = -1;  // -1: closed
  int errors_ = -1;
  int status_ = -1;           // the supervisor tells how the program ended
  std::string lines_{};       // of the output, not yet taken
  std::size_t searched_ = 0;  // there is no end of a line before this place
  std::string last_errors_{};
  std::uint64_t told_bytes_ = 0;  // of both outputs
  Clock::time_point next_look_{};
  std::optional<int> ended_{};  // the program's status
};

}  // namespace timerbench
