// Runs programs of the system that need root, as mkfs.ext4 and ip.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace timerbench {

// Whether it is in a folder of programs of the system.
bool has_program(std::string_view name);

// Returns what it has printed, when it has succeeded. Throws BackendUnavailable with its last words,
// or with the advice if it is missing; also if it takes more than 30 s, and then kills it.
std::string run_program(const std::vector<std::string>& arguments, std::string_view advice);

}  // namespace timerbench
