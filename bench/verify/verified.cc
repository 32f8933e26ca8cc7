#include "verify/verified.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <fstream>

#include "system/output_file.h"

namespace timerbench {
namespace {

std::string build_of(const std::filesystem::path& program) {
  struct stat status {};
  if (stat(program.c_str(), &status) != 0) return "";
  return fmt::format("{} bytes, built at {}.{:09}", status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

}  // namespace

VerifiedNames::VerifiedNames(const std::filesystem::path& program)
    : file_(program.string() + ".verified"), build_(build_of(program)) {
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
