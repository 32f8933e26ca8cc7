// Processes and their descendants, as /proc shows them.
#include "system/process_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>

#include "system/stopped_trees.h"

namespace timerbench {
namespace {

using std::chrono_literals::operator""s;
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

TEST(StoppedTreesTest, StopThemAndLetThemGoOn) {
  const Busy busy;
  {
    const StoppedTrees stopped({busy.process()}, 10s);
    EXPECT_TRUE(are_stopped({busy.process()}));
  }
  EXPECT_FALSE(are_stopped({busy.process()}));
}

TEST(StoppedTreesTest, TellIfOneDoesNotStop) {
  const Busy busy;
  EXPECT_THROW(StoppedTrees({busy.process()}, 0s), std::runtime_error);
  EXPECT_FALSE(are_stopped({busy.process()}));
}

TEST(StoppedTreesTest, LetThemGoOnIfTheGuardIsKilled) {
  const Busy busy;
  {
    const StoppedTrees stopped({busy.process()}, 10s);
    for (const pid_t process : processes_of_trees({getpid()})) {
      if (process != getpid() && process != busy.process()) kill(process, SIGKILL);
    }
  }
  EXPECT_FALSE(are_stopped({busy.process()}));
}

// The process that is stopped is no child of its own, and would not be told.
TEST(StoppedTreesTest, KillThemIfWhoStoppedThemIsKilled) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t killed = fork();
  if (killed == 0) {
    const pid_t server = fork();
    if (server == 0) {
      for (;;) pause();
    }
    const StoppedTrees stopped({server}, 10s);
    EXPECT_EQ(write(ends[1], &server, sizeof server), ssize_t{sizeof server});
    for (;;) pause();
  }
  pid_t server = 0;
  ASSERT_EQ(read(ends[0], &server, sizeof server), ssize_t{sizeof server});
  ASSERT_TRUE(are_stopped({server}));
  kill(killed, SIGKILL);
  waitpid(killed, nullptr, 0);
  int status = 0;
  ASSERT_EQ(waitpid(server, &status, 0), server);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  close(ends[0]);
  close(ends[1]);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace timerbench
