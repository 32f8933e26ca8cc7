// The contenders that are other programs, as the user or the build names them.
#pragma once

#include <string>
#include <vector>

namespace timerbench {

// Adds those that were built with this program: each NAME.json of the folder `processes` beside it is
// the description of the executable NAME. Throws ProgramFailure. REQUIRES: called before any is looked
// up.
void add_built_processes();

// Lets each command describe itself, and adds it. Returns their names. Throws UsageError. REQUIRES: as
// above.
std::vector<std::string> add_processes(const std::vector<std::string>& commands);

}  // namespace timerbench
