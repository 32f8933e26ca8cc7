// What any thread wants of the timers of a loop that only the loop's thread may touch.
//
// Requests for one id that come before the loop takes them are one: the last. What is cancelled
// does not wake the loop; its timer is stopped when the loop runs for another reason.
//
// Cost:
//   add    a mutex, and two lines of the id; a wake-up of the loop, unless it is on its way
//   take   the mutex once for all, and the same lines
//   17 bytes an id, and 16 a request
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "services/timer_service.h"

namespace timerbench {

class Requests {
 public:
  explicit Requests(TimerId capacity) : wanted_(capacity, kNever), is_listed_(capacity, 0) {}

  // Returns whether the caller must wake the loop.
  bool add(TimerId id, Tick deadline) {
    const std::lock_guard lock(mutex_);
    wanted_[id] = deadline;
    if (!std::exchange(is_listed_[id], 1)) listed_.push_back(id);
    return deadline != kNever && !std::exchange(is_woken_, true);
  }

  // Calls set(id, deadline) for each. REQUIRES: one thread at a time.
  template <class Set>
  void take(Set&& set) {
    {
      const std::lock_guard lock(mutex_);
      for (const TimerId id : listed_) {
        is_listed_[id] = 0;
        taken_.push_back({id, wanted_[id]});
      }
      listed_.clear();
      is_woken_ = false;
    }
    for (const PendingTimer& timer : taken_) set(timer.id, timer.deadline);
    taken_.clear();
  }

 private:
  std::mutex mutex_;                     // of all but taken_
  std::vector<Tick> wanted_;             // by id
  std::vector<std::uint8_t> is_listed_;  // by id
  std::vector<TimerId> listed_;
  bool is_woken_ = false;
  std::vector<PendingTimer> taken_;
};

}  // namespace timerbench
