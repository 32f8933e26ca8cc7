#include "system/machine.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "system/allocations.h"
#include "system/doctor.h"
#include "system/kernel_files.h"

namespace timerbench {
namespace {

std::string known(const std::optional<std::string>& text) { return text.value_or("unknown"); }

// The number of bytes at the start of the text; the largest number if there is none ("max").
std::uint64_t bytes(const std::optional<std::string>& text) {
  const auto value = number(text);
  return value ? static_cast<std::uint64_t>(*value) : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> machine_facts(double load_seconds) {
  utsname system{};
  uname(&system);
  Probes probes = ask_kernel();
  probes.load_seconds = load_seconds;
  const std::vector<Check> checks = diagnose_at_a_glance("/", probes);
  return {
      {"timerbench", TIMERBENCH_VERSION},
      {"processor", known(field("/proc/cpuinfo", "model name"))},
      {"kernel", std::string(system.sysname) + ' ' + system.release},
      {"compiler", TIMERBENCH_COMPILER},
      {"flags", TIMERBENCH_FLAGS},
      {"build", TIMERBENCH_BUILD_TYPE},
      {"transparent_hugepage", known(first_line("/sys/kernel/mm/transparent_hugepage/enabled"))},
      {"governor", known(first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))},
      {"memory", known(field("/proc/meminfo", "MemTotal"))},
      {"grade", std::string(1, grade(checks))},
      {"grade_reasons", grade_reasons(checks)},
  };
}

std::uint64_t available_memory() {
  std::uint64_t available = bytes(field("/proc/meminfo", "MemAvailable"));
  if (available < std::numeric_limits<std::uint64_t>::max() / 1024) available *= 1024;
  for (const std::filesystem::path& group : control_groups("/", "memory")) {
    for (const char* limit : {"memory.max", "memory.limit_in_bytes"}) {  // of version 2, and 1
      available = std::min(available, bytes(first_line(group / limit)));
    }
  }
  return available;
}

namespace {

std::uint64_t kib_field(const char* file, const char* key) {
  const auto kib = number(field(file, key));
  return kib ? static_cast<std::uint64_t>(*kib) * 1024 : 0;
}

}  // namespace

std::uint64_t resident_bytes() { return kib_field("/proc/self/status", "RssAnon"); }

std::uint64_t huge_page_bytes() { return kib_field("/proc/self/smaps_rollup", "AnonHugePages"); }

void require_memory(std::uint64_t bytes, std::string_view what) {
  const std::uint64_t available = available_memory();
  if (bytes <= available) return;
  throw OutOfMemory(
      fmt::format("{} needs about {:.1f} GB and {:.1f} GB are available; choose a smaller one",
                  what, static_cast<double>(bytes) / 1e9, static_cast<double>(available) / 1e9));
}

}  // namespace timerbench
