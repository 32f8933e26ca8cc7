#include "system/output_file.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

namespace timerbench {
namespace {

constexpr std::string_view kTemporary = ".tmp";

}  // namespace

std::filesystem::path follow_links(std::filesystem::path path) {
  std::error_code error;
  for (int links = 0; links < 40 && std::filesystem::is_symlink(path, error); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  return path;
}

void remove_abandoned(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  const auto a_day_ago = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != kTemporary) continue;
    const auto written = entry.last_write_time(ignored);
    if (!ignored && written < a_day_ago) fs::remove(entry.path(), ignored);
  }
}

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path_, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw FileError(
        fmt::format("cannot write {}: it exists and is not a regular file; "
                    "choose another name",
                    path_.string()));
  }
  path_ = follow_links(std::move(path_));
  temporary_ = path_;
  temporary_ += fmt::format(".{}{}", getpid(), kTemporary);
  file_ = std::fopen(temporary_.c_str(), "wbe");
  if (file_ == nullptr) fail(errno);
}

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view bytes) {
  if (bytes.empty()) return;  // data() may be null
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail(errno);
}

void OutputFile::sync() {
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) fail(errno);
  if (std::fclose(std::exchange(file_, nullptr)) != 0) fail(errno);
}

void OutputFile::commit() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void OutputFile::fail(int error) const {
  throw FileError(fmt::format("cannot write {}: {}; nothing was kept, free or choose another place",
                              path_.string(), std::strerror(error)));
}

}  // namespace timerbench
