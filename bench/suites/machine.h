// What a figure was measured on: it goes into every result.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace timerbench {

// Key and value of each fact: processor, kernel, compiler, flags, build type, huge pages, governor.
std::vector<std::pair<std::string, std::string>> machine_facts();

// Bytes that can still be had without swapping (MemAvailable, or the cgroup's limit if that is less).
std::uint64_t available_memory();

}  // namespace timerbench
