#include "verify/verified.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <system_error>

#include "system/output_file.h"
#include "system/program.h"

namespace timerbench {
namespace {

std::string build_of(const std::filesystem::path& program) {
  struct stat status {};
  if (stat(program.c_str(), &status) != 0) return "";
  return fmt::format("{} bytes, built at {}.{:09}", status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::filesystem::path file_of(const std::filesystem::path& program) {
  const std::string name = program.filename().string() + ".verified";
  const std::string cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (!is_installed() || (cache.empty() && home.empty())) return program.parent_path() / name;
  const std::filesystem::path folder = (cache.empty() ? home + "/.cache" : cache) + "/timerbench";
  std::error_code ignored;  // then the file cannot be written
  create_directories(folder, ignored);
  return folder / name;
}

}  // namespace

VerifiedNames::VerifiedNames(const std::filesystem::path& program)
    : file_(file_of(program)), build_(build_of(program)) {
  std::ifstream file(file_);
  std::string line;
  if (!std::getline(file, line) || line != build_) return;
  while (std::getline(file, line)) names_.insert(line);
}

void VerifiedNames::add(const std::string& name) {
  names_.insert(name);
  try {
    OutputFile file(file_);
    file.write(fmt::format("{}\n{}\n", build_, fmt::join(names_, "\n")));
    file.sync();
    file.commit();
  } catch (const FileError&) {  // it is verified again next time
  }
}

}  // namespace timerbench
