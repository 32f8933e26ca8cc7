#include "system/program.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace timerbench {

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

std::filesystem::path own_path() { return std::filesystem::read_symlink("/proc/self/exe"); }

bool is_installed() { return exists(own_path().parent_path() / "bench" / "suites"); }

std::filesystem::path installed_or(std::string_view name, const std::filesystem::path& built) {
  return is_installed() ? own_path().parent_path() / name : built;
}

void exec_program(const std::filesystem::path& program) {
  std::vector<std::string> arguments = own_arguments();
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  execv(program.c_str(), argv.data());
  throw std::runtime_error(fmt::format("{}: {}; build it, cmake --build --preset release",
                                       program.string(), std::strerror(errno)));
}

}  // namespace timerbench
