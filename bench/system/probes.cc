#include "system/probes.h"

#include <linux/perf_event.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace timerbench {
namespace {

// 0 if instructions of this program can be counted.
int counter_error() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
  attributes.exclude_kernel = 1;  // which the kernel allows more programs
  attributes.exclude_hv = 1;
  const int counter =
      static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (counter < 0) return errno;
  std::uint64_t count = 0;
  const bool counts = read(counter, &count, sizeof count) == sizeof count && count > 0;
  close(counter);
  return counts ? 0 : ENODATA;  // a hypervisor may accept what it does not count
}

std::optional<bool> is_randomized() {
  constexpr unsigned long kOnlyAsk = 0xffffffff;
  const int flags = personality(kOnlyAsk);
  if (flags < 0) return std::nullopt;
  return (flags & ADDR_NO_RANDOMIZE) == 0;
}

std::optional<std::uint64_t> timer_slack_ns() {
  const int slack = prctl(PR_GET_TIMERSLACK);
  if (slack < 0) return std::nullopt;
  return slack;
}

}  // namespace

Probes ask_kernel() {
  Probes probes;
  probes.build_type = TIMERBENCH_BUILD_TYPE;
#ifndef NDEBUG
  probes.has_assertions = true;
#endif
  probes.is_randomized = is_randomized();
  probes.timer_slack_ns = timer_slack_ns();
  probes.counter_error = counter_error();
  probes.wait = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  return probes;
}

}  // namespace timerbench
