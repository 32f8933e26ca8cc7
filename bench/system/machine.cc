#include "system/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace timerbench {
namespace {

// The first line of a file, or "unknown".
std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? line : "unknown";
}

// What follows `key`, blanks and colons on the first line of a file that begins so, or "unknown".
std::string field(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "unknown";
}

// A number at the beginning of the text; the largest there is if there is none ("max").
std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  return std::istringstream(text) >> value ? value : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> machine_facts() {
  utsname system{};
  uname(&system);
  return {
      {"timerbench", TIMERBENCH_VERSION},
      {"processor", field("/proc/cpuinfo", "model name")},
      {"kernel", std::string(system.sysname) + ' ' + system.release},
      {"compiler", TIMERBENCH_COMPILER},
      {"flags", TIMERBENCH_FLAGS},
      {"build", TIMERBENCH_BUILD_TYPE},
      {"transparent_hugepage", first_line("/sys/kernel/mm/transparent_hugepage/enabled")},
      {"governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
      {"memory", field("/proc/meminfo", "MemTotal")},
  };
}

std::uint64_t available_memory() {
  std::uint64_t available = number(field("/proc/meminfo", "MemAvailable"));
  if (available < std::numeric_limits<std::uint64_t>::max() / 1024) available *= 1024;
  // A control group's limit binds its descendants: this process's "0::/a/b", then /a, then the
  // root.
  namespace fs = std::filesystem;
  const fs::path root = "/sys/fs/cgroup";
  fs::path group = fs::path(field("/proc/self/cgroup", "0::")).relative_path();
  for (;; group = group.parent_path()) {
    available = std::min(available, number(first_line(root / group / "memory.max")));
    if (group.empty()) return available;
  }
}

void require_memory(std::uint64_t bytes, std::string_view what) {
  const std::uint64_t available = available_memory();
  if (bytes <= available) return;
  throw OutOfMemory(
      fmt::format("{} needs about {:.1f} GB and {:.1f} GB are available; choose a smaller one",
                  what, static_cast<double>(bytes) / 1e9, static_cast<double>(available) / 1e9));
}

}  // namespace timerbench
