// The command line: every command with its options, their checks and their help.
#pragma once

namespace timerbench {

// Runs the command that the arguments name. Returns 0. Throws UsageError and what the command
// throws.
int execute(int argc, char** argv);

}  // namespace timerbench
