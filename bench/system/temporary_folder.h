// A folder for a while, in TMPDIR or /tmp.
//
// Its owner holds a lock on it. The system frees the lock when the process ends, even by kill -9; so
// whoever makes a folder of the same name can tell what was left behind, and removes it.
#pragma once

#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    if (error) throw FileError(fmt::format("TMPDIR is not a folder: {}", error.message()));
    const std::string prefix = std::string(name) + "-";
    remove_abandoned(parent, prefix);
    // Until it is locked, another process may take it for abandoned and remove it.
    while (!make(parent / (prefix + "XXXXXX"))) {
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    remove(path_);
    close(lock_);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  static constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

  static void remove(const std::filesystem::path& path) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  static void remove_abandoned(const std::filesystem::path& parent, const std::string& prefix) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
      if (!entry.path().filename().string().starts_with(prefix)) continue;
      const int folder = ::open(entry.path().c_str(), kFolder);
      if (folder < 0) continue;
      struct stat status {};
      const bool is_own = fstat(folder, &status) == 0 && status.st_uid == geteuid();
      if (is_own && flock(folder, LOCK_EX | LOCK_NB) == 0) remove(entry.path());
      close(folder);
    }
  }

  // Returns whether it is still there when it is locked.
  bool make(std::string path) {
    const auto fail = [&] {
      throw FileError(fmt::format("cannot make {}: {}", path, std::strerror(errno)));
    };
    if (mkdtemp(path.data()) == nullptr) fail();
    path_ = path;
    lock_ = ::open(path.c_str(), kFolder);
    if (lock_ < 0 && errno == ENOENT) return false;
    if (lock_ < 0) fail();
    while (flock(lock_, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (std::filesystem::exists(path_)) return true;
    close(lock_);
    return false;
  }

  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace timerbench
