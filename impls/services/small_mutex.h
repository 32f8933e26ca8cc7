// A mutex of 4 bytes, which fits beside what it guards: one for each of a million timers.
//
// Followed: the simplest futex mutex; std::atomic knows whether anybody waits.
#pragma once

#include <atomic>

namespace timerbench {

// Meets what std::lock_guard and std::unique_lock ask for.
class SmallMutex {
 public:
  SmallMutex() = default;
  SmallMutex(const SmallMutex&) = delete;
  SmallMutex& operator=(const SmallMutex&) = delete;

  void lock() {
    while (locked_.exchange(1) == 1) locked_.wait(1);
  }

  void unlock() {
    locked_.store(0);
    locked_.notify_one();
  }

 private:
  std::atomic<int> locked_ = 0;
};

}  // namespace timerbench
