#include "trace/op_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "system/output_file.h"

namespace timerbench {
namespace {

std::string temporary_folder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

[[noreturn]] void fail() {
  throw FileError(fmt::format("cannot keep operations in {}: {}; set TMPDIR to a folder with room",
                              temporary_folder(), std::strerror(errno)));
}

// Opens and removes the file at once, so that nothing is left behind even after a crash.
int open_without_name() {
  std::string name = temporary_folder() + "/timerbench_ops_XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) fail();
  unlink(name.c_str());
  return file;
}

}  // namespace

OpStore::~OpStore() {
  if (file_ >= 0) close(file_);
}

void OpStore::spill() {
  if (file_ < 0) file_ = open_without_name();
  const char* bytes = reinterpret_cast<const char*>(window_.data());
  for (std::size_t left = window_.size() * sizeof(Op); left > 0;) {
    const ssize_t written = write(file_, bytes, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail();
    bytes += written;
    left -= static_cast<std::size_t>(written);
  }
  spilled_ += window_.size();
  window_.clear();
}

StoredOps OpStore::finish() {
  if (spilled_ == 0) {
    const auto owned = std::make_shared<const std::vector<Op>>(std::move(window_));
    return {owned, *owned};
  }
  if (!window_.empty()) spill();
  MappedFile mapped = map_file(file_, spilled_ * sizeof(Op));
  if (!mapped.storage) fail();
  const auto* const first = reinterpret_cast<const Op*>(mapped.bytes.data());
  return {std::move(mapped.storage), {first, spilled_}};
}

}  // namespace timerbench
