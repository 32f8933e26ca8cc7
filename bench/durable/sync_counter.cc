#include "durable/sync_counter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "engines/scoped_variable.h"
#include "system/output_file.h"
#include "system/program.h"

namespace timerbench {
namespace {

// Of a file, or some `most` bytes at its begin.
std::string content(const std::filesystem::path& path, std::size_t most = std::string::npos) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 1 << 12> buffer;
  while (text.size() < most && (file.read(buffer.data(), buffer.size()), file.gcount() > 0)) {
    text.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

}  // namespace

bool makes_own_system_calls(const std::filesystem::path& program) {
  // The type and the owner of the note that holds the build's id. It is near the begin of the file.
  constexpr std::string_view kNote("\4\0\0\0Go\0\0", 8);
  constexpr std::size_t kNear = 1 << 15;
  return content(program, kNear).find(kNote) != std::string::npos;
}

SyncCounter::SyncCounter() {
  const auto require = [](bool is_well, const std::filesystem::path& path) {
    if (!is_well) throw FileError(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  };
  require(chmod(folder_.path().c_str(), 0711) == 0, folder_.path());
  std::error_code ignored;  // then counts() says so
  std::filesystem::copy_file(installed_or("libcounting_syncs.so", TIMERBENCH_COUNTING_SYNCS),
                             library_, ignored);
  chmod(library_.c_str(), 0755);
  const int file = open(file_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  require(file >= 0, file_);
  void* memory = MAP_FAILED;
  if (fchmod(file, 0666) == 0 && ftruncate(file, sizeof(SyncCount)) == 0) {
    memory = mmap(nullptr, sizeof(SyncCount), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int error = errno;
  close(file);
  errno = error;
  require(memory != MAP_FAILED, file_);
  count_ = static_cast<SyncCount*>(memory);
  sync_count = count_;
}

SyncCounter::~SyncCounter() {
  sync_count = nullptr;
  munmap(static_cast<void*>(count_), sizeof(SyncCount));
}

void SyncCounter::also_of(const std::function<void()>& start) const {
  std::string libraries = library_;
  if (const char* const others = std::getenv("LD_PRELOAD")) libraries += fmt::format(":{}", others);
  const ScopedVariable file(kSyncsVariable, file_);
  const ScopedVariable preload("LD_PRELOAD", libraries);
  start();
}

bool SyncCounter::counts(const std::vector<pid_t>& processes) const {
  return std::ranges::all_of(processes, [&](pid_t process) {
    const std::string text = content(fmt::format("/proc/{}/maps", process));
    if (text.empty()) return true;  // it has ended
    if (makes_own_system_calls(fmt::format("/proc/{}/exe", process))) return false;
    return text.find(library_.string()) != std::string::npos &&
           text.find(file_.string()) != std::string::npos;
  });
}

}  // namespace timerbench
