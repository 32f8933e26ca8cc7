#include "system/perf_counters.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace timerbench {
namespace {

constexpr std::uint64_t cache_misses_of_reads(std::uint64_t cache) {
  return cache | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
}

int open_event(const CountedEvent& event, int leader) {
  perf_event_attr attributes{};
  attributes.type = event.type;
  attributes.size = sizeof attributes;
  attributes.config = event.config;
  attributes.disabled = leader < 0;
  attributes.exclude_kernel = 1;  // more programs may count without the kernel
  attributes.exclude_hv = 1;
  attributes.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

std::span<const CountedEvent> processor_events() {
  static constexpr std::array kEvents{
      CountedEvent{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
      CountedEvent{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
      CountedEvent{"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
      CountedEvent{"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
      CountedEvent{"tlb_misses", PERF_TYPE_HW_CACHE,
                   cache_misses_of_reads(PERF_COUNT_HW_CACHE_DTLB)},
  };
  return kEvents;
}

PerfCounters::PerfCounters(std::span<const CountedEvent> events) {
  for (const CountedEvent& event : events) {
    const int file = open_event(event, open_.empty() ? -1 : open_.front().file);
    if (file >= 0) {
      open_.push_back({event.name, file});
    } else if (open_.empty()) {
      error_ = errno;
      return;
    }
  }
}

PerfCounters::~PerfCounters() {
  for (const Open& one : open_) close(one.file);
}

void PerfCounters::start() {
  ioctl(open_.front().file, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
  ioctl(open_.front().file, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

void PerfCounters::stop() {
  ioctl(open_.front().file, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
}

std::optional<std::vector<PerfCounters::Count>> PerfCounters::counts() const {
  // The number of events, the time enabled, the time running, then the counts.
  std::vector<std::uint64_t> words(3 + open_.size());
  const auto size = static_cast<ssize_t>(words.size() * sizeof words[0]);
  if (read(open_.front().file, words.data(), static_cast<std::size_t>(size)) != size) return {};
  if (words[0] != open_.size() || words[1] == 0 || words[1] != words[2]) return {};
  std::vector<Count> counts;
  for (std::size_t i = 0; i < open_.size(); ++i) counts.push_back({open_[i].name, words[3 + i]});
  return counts;
}

}  // namespace timerbench
