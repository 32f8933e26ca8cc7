// The commands of the program. Each adds itself to the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>

#include "core/timer_queue.h"

namespace timerbench {

void add_list(CLI::App& app);
void add_run(CLI::App& app);
void add_verify(CLI::App& app);
void add_replay(CLI::App& app);
void add_trace(CLI::App& app);

// The option --granularity, of the commands that replay.
inline CLI::Option* add_granularity_option(CLI::App& command, Tick& granularity) {
  return command
      .add_option("--granularity", granularity, "Ticks to which granular backends round deadlines")
      ->capture_default_str()
      ->check(CLI::Range(Tick{1}, Tick{1} << 32));
}

// Seconds from 0 to about 12 days. CLI::Range lets nan pass.
inline CLI::Validator seconds_range() {
  return {[](std::string& text) {
            double seconds = 0;
            const bool good =
                CLI::detail::lexical_cast(text, seconds) && seconds >= 0 && seconds <= 1e6;
            return good ? std::string() : text + " is not a number of seconds from 0 to 1000000";
          },
          "0 .. 1e6", "seconds"};
}

// The user asked for something that is not there: exit code 2. The text is one line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The command did its work and the result is bad (a backend that breaks the contract), and has been
// said: exit code 1 without a further word.
struct CommandFailed {};

}  // namespace timerbench
