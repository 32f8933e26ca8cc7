// A folder for a while, in TMPDIR or /tmp.
#pragma once

#include <fmt/core.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "system/output_file.h"

namespace timerbench {

// Mode 0700; removed with all that is in it at the end. Throws FileError.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string_view name) {
    std::string path = std::filesystem::temp_directory_path() / (std::string(name) + "-XXXXXX");
    if (mkdtemp(path.data()) == nullptr) {
      throw FileError(fmt::format("cannot make {}: {}", path, std::strerror(errno)));
    }
    path_ = path;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace timerbench
