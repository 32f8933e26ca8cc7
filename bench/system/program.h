// This program itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace timerbench {

// The arguments of this process, its name first.
std::vector<std::string> own_arguments();

// The path of this program's file.
std::filesystem::path own_path();

// Replaces this process by another program with the same arguments. Throws std::runtime_error.
[[noreturn]] void exec_program(const std::filesystem::path& program);

}  // namespace timerbench
