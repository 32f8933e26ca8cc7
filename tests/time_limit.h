// Ends a loop of a test that would not end if what is tested is broken.
#pragma once

#include <chrono>

namespace timerbench {

class TimeLimit {
 public:
  bool is_over() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  // Longer than anything takes on a busy machine, under a sanitizer.
  std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
};

}  // namespace timerbench
