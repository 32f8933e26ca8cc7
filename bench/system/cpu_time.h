// Processor time.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <chrono>

namespace timerbench {

// Seconds of processor time of all threads of this process so far, user and kernel.
inline double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Processor time of the calling thread so far.
inline std::chrono::nanoseconds cpu_time_of_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace timerbench
