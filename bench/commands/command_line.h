// The command line: every command with its options, their checks and their help.
#pragma once

namespace timerbench {

// Does what the arguments say. Returns 0, or throws: UsageError, and whatever a command throws.
int execute(int argc, char** argv);

}  // namespace timerbench
