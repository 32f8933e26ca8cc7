#include "system/disturbance.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>

namespace timerbench {
namespace {

Disturbance so_far() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {.switches = static_cast<std::uint64_t>(usage.ru_nivcsw),
          .faults = static_cast<std::uint64_t>(usage.ru_majflt)};
}

std::chrono::nanoseconds worked_so_far() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

DisturbanceMeter::DisturbanceMeter()
    : before_(so_far()),
      processor_(sched_getcpu()),
      begin_(std::chrono::steady_clock::now()),
      worked_before_(worked_so_far()) {}

Disturbance DisturbanceMeter::stop() const {
  const std::chrono::nanoseconds worked = worked_so_far() - worked_before_;
  const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - begin_;
  const Disturbance now = so_far();
  return {.switches = now.switches - before_.switches,
          .migrations = sched_getcpu() != processor_ ? 1U : 0U,
          .faults = now.faults - before_.faults,
          .away = std::max(passed - worked, std::chrono::nanoseconds(0))};
}

}  // namespace timerbench
