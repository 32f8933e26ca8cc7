// Runs programs of the system that need root, as mkfs.ext4 and ip.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace timerbench {

// Whether it is in a folder of programs of the system.
bool has_program(std::string_view name);

// Returns when it has succeeded; what it prints is dropped, but not its errors. Throws BackendUnavailable, with the advice if it is missing.
void run_program(const std::vector<std::string>& arguments, std::string_view advice);

}  // namespace timerbench
