// What a figure was measured on: it goes into every result.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace timerbench {

// Key and value of each fact: processor, kernel, compiler, flags, build type, huge pages, governor,
// the grade that `timerbench doctor` gives, and why. If the machine seems busy it is watched for
// `load_seconds`.
std::vector<std::pair<std::string, std::string>> machine_facts(double load_seconds);

// Bytes that can still be had without swapping (MemAvailable, or the cgroup's limit if that is
// less).
std::uint64_t available_memory();

struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws OutOfMemory if so many bytes are not available: a kernel that overcommits does not refuse
// them, but kills who uses them.
void require_memory(std::uint64_t bytes, std::string_view what);

}  // namespace timerbench
