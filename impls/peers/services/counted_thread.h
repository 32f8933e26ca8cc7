// A thread whose sleeps the kernel counts, for a library that does not tell them.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

namespace timerbench {

class CountedThread {
 public:
  template <class Work>
  explicit CountedThread(Work work)
      : thread_([this, work = std::move(work)] {
          id_ = gettid();
          work();
          rusage usage;
          getrusage(RUSAGE_THREAD, &usage);
          all_sleeps_ = static_cast<std::uint64_t>(usage.ru_nvcsw);
        }) {}

  // How often it has given its processor away to wait, for a lock too. Takes some 20 us.
  std::uint64_t sleeps() const {
    std::ifstream status("/proc/self/task/" + std::to_string(id_) + "/status");
    const std::string wanted = "voluntary_ctxt_switches:";
    for (std::string word; status >> word;) {
      std::uint64_t sleeps;
      if (word == wanted && status >> sleeps) return sleeps;
    }
    return all_sleeps_;  // it has ended, or has not begun
  }

 private:
  std::atomic<pid_t> id_ = 0;
  std::atomic<std::uint64_t> all_sleeps_ = 0;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace timerbench
