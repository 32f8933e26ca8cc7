// Threads whose sleeps the kernel counts, for libraries that do not tell them.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace timerbench {

// How often a thread of this process has given its processor away to wait, for a lock too. Nothing
// if it has ended. Takes some 20 us.
inline std::optional<std::uint64_t> sleeps_of(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  const std::string wanted = "voluntary_ctxt_switches:";
  for (std::string word; status >> word;) {
    std::uint64_t sleeps;
    if (word == wanted && status >> sleeps) return sleeps;
  }
  return std::nullopt;
}

// The same of this thread, in less than a microsecond.
inline std::uint64_t sleeps_of_this_thread() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
}

// A thread of a service.
class CountedThread {
 public:
  template <class Work>
  explicit CountedThread(Work work)
      : thread_([this, work = std::move(work)] {
          id_ = gettid();
          work();
          all_sleeps_ = sleeps_of_this_thread();
        }) {}

  std::uint64_t sleeps() const {
    return sleeps_of(id_).value_or(all_sleeps_);  // if it has ended, or has not begun
  }

 private:
  std::atomic<pid_t> id_ = 0;
  std::atomic<std::uint64_t> all_sleeps_ = 0;
  std::jthread thread_;  // last: it uses the others
};

// Threads that a library starts for itself, in order.
using ThreadIds = std::vector<pid_t>;

// All threads of this process.
inline ThreadIds threads_of_process() {
  ThreadIds threads;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.push_back(static_cast<pid_t>(std::stol(task.path().filename().string())));
  }
  std::ranges::sort(threads);
  return threads;
}

// Those threads that are not among the others.
inline ThreadIds without(const ThreadIds& threads, const ThreadIds& others) {
  ThreadIds rest;
  std::ranges::set_difference(threads, others, std::back_inserter(rest));
  return rest;
}

inline std::uint64_t sleeps_of(const ThreadIds& threads) {
  std::uint64_t sum = 0;
  for (const pid_t thread : threads) sum += sleeps_of(thread).value_or(0);
  return sum;
}

}  // namespace timerbench
