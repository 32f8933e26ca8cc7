// Processes that are stopped for a while (SIGSTOP), with all their descendants.
//
// Who is stopped does not notice that its parent has died. So a guard, a process of its own, stops
// them, and kills them if this process ends before it has let them go on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace timerbench {

class StoppedTrees {
 public:
  // Returns when none of them runs. Throws std::runtime_error if one still does after `patience`, or
  // if there can be no guard; then they go on.
  StoppedTrees(const std::vector<pid_t>& roots, std::chrono::nanoseconds patience);
  ~StoppedTrees() { let_go_on(); }
  StoppedTrees(const StoppedTrees&) = delete;
  StoppedTrees& operator=(const StoppedTrees&) = delete;

 private:
  void let_go_on();

  const std::vector<pid_t> roots_;
  int line_;  // a socket to the guard
  pid_t guard_;
};

}  // namespace timerbench
