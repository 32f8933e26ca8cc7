// This program itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace timerbench {

// As it was started, its name first.
std::vector<std::string> own_arguments();

// Where it lies.
std::filesystem::path own_path();

// Another program takes its place, with the same arguments. Throws std::runtime_error.
[[noreturn]] void exec_program(const std::filesystem::path& program);

}  // namespace timerbench
