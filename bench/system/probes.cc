#include "system/probes.h"

#include <sys/personality.h>
#include <sys/prctl.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "system/perf_counters.h"

namespace timerbench {
namespace {

// 0 if this program's instructions can be counted, else an errno.
int counter_error() {
  PerfCounters counter(processor_events().first(1));
  if (counter.error() != 0) return counter.error();
  counter.start();
  counter.stop();
  const auto counts = counter.counts();
  return counts && counts->front().count > 0
             ? 0
             : ENODATA;  // a hypervisor may accept events but not count them
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
