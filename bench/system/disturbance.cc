#include "system/disturbance.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

#include "system/cpu_time.h"

namespace timerbench {
namespace {

Disturbance so_far() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {.switches = static_cast<std::uint64_t>(usage.ru_nivcsw),
          .faults = static_cast<std::uint64_t>(usage.ru_majflt)};
}

}  // namespace

DisturbanceMeter::DisturbanceMeter()
    : before_(so_far()),
      processor_(sched_getcpu()),
      begin_(std::chrono::steady_clock::now()),
      worked_before_(cpu_time_of_thread()) {}

Disturbance DisturbanceMeter::stop() const {
  const std::chrono::nanoseconds worked = cpu_time_of_thread() - worked_before_;
  const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - begin_;
  const Disturbance now = so_far();
  return {.switches = now.switches - before_.switches,
          .migrations = sched_getcpu() != processor_ ? 1U : 0U,
          .faults = now.faults - before_.faults,
          .away = std::max(passed - worked, std::chrono::nanoseconds(0))};
}

}  // namespace timerbench
