// Facts about the machine and the build, which go into every result.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace timerbench {

// Key and value of each fact: processor, kernel, compiler, flags, build type, huge pages, governor,
// and the grade of `timerbench doctor` with its reasons. A machine that seems busy is watched for
// `load_seconds`.
std::vector<std::pair<std::string, std::string>> machine_facts(double load_seconds);

// Bytes that are available without swapping: MemAvailable, or the control group's limit if smaller.
std::uint64_t available_memory();

struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws OutOfMemory if fewer bytes are available. A kernel that overcommits would grant them, and
// later kill the process.
void require_memory(std::uint64_t bytes, std::string_view what);

}  // namespace timerbench
