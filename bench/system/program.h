// This program itself.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace timerbench {

// The arguments of this process, its name first.
std::vector<std::string> own_arguments();

// The path of this program's file.
std::filesystem::path own_path();

// Whether the files that this program reads lie beside it, and not in the tree.
bool is_installed();

// The file or folder of this name beside an installed program; `built` for a program in the tree.
std::filesystem::path installed_or(std::string_view name, const std::filesystem::path& built);

// Replaces this process by another program with the same arguments. Throws std::runtime_error.
[[noreturn]] void exec_program(const std::filesystem::path& program);

}  // namespace timerbench
