// Processes and their descendants, as /proc shows them.
#include "system/process_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace timerbench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A process that computes until it is killed.
class Busy {
 public:
  Busy() : process_(fork()) {
    if (process_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (std::atomic<int> i = 0;; ++i) {
    }
  }
  ~Busy() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  pid_t process() const { return process_; }

 private:
  pid_t process_;
};

TEST(ProcessTreeTest, WhatHasEndedHasNoDescendants) {
  const Busy busy;
  EXPECT_THAT(processes_of_trees({0}), IsEmpty());
  EXPECT_THAT(processes_of_trees({1}), IsEmpty());
  EXPECT_THAT(processes_of_trees({0, busy.process()}), ElementsAre(busy.process()));
}

TEST(ProcessTreeTest, TellsWhetherAProcessIsStopped) {
  const Busy busy;
  EXPECT_THAT(processes_of_trees({getpid()}), Contains(busy.process()));
  EXPECT_FALSE(are_stopped({busy.process()}));
  kill(busy.process(), SIGSTOP);
  waitpid(busy.process(), nullptr, WUNTRACED);
  EXPECT_TRUE(are_stopped({busy.process()}));
  EXPECT_FALSE(are_stopped({busy.process(), getpid()}));
  kill(busy.process(), SIGCONT);
  waitpid(busy.process(), nullptr, WCONTINUED);
  EXPECT_FALSE(are_stopped({busy.process()}));
}

}  // namespace
}  // namespace timerbench
