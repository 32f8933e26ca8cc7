// What is judged may crash or hang: whoever asked is told where, and goes on.
#include "verify/isolated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "replay/make_backend.h"
#include "sorted_list.h"
#include "verify/verification.h"

namespace timerbench {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

void ignore(const std::string&) {}

Verdict judge_in_stage(const std::function<Verdict()>& judge, milliseconds patience = kPatience) {
  return judge_isolated(
      [&](Progress& progress) {
        progress.begin("the stage");
        return judge();
      },
      ignore, patience);
}

TEST(IsolatedTest, TheVerdictArrivesWhole) {
  const std::string long_text(1 << 20, 'x');
  const Verdict verdict = judge_in_stage([&] { return Verdict{true, "ok: all", long_text}; });
  EXPECT_TRUE(verdict.is_ok);
  EXPECT_EQ(verdict.line, "ok: all");
  EXPECT_EQ(verdict.evidence, long_text);
}

TEST(IsolatedTest, ACrashIsToldWithItsSignalAndStage) {
  const Verdict verdict = judge_in_stage([]() -> Verdict { std::abort(); });
  EXPECT_FALSE(verdict.is_ok);
  EXPECT_EQ(verdict.line, "ERROR: crash: SIGABRT in the stage");
}

TEST(IsolatedTest, WhoEndsTheProcessIsNotOk) {
  const Verdict verdict = judge_in_stage([]() -> Verdict { _exit(0); });
  EXPECT_FALSE(verdict.is_ok);
  EXPECT_EQ(verdict.line, "ERROR: crash: the process ended itself, exit code 0, in the stage");
}

TEST(IsolatedTest, WhatIsThrownIsTold) {
  const auto thrown = [](auto error) {
    return judge_in_stage([&]() -> Verdict { throw error; }).line;
  };
  EXPECT_EQ(thrown(std::runtime_error("no socket")), "ERROR: the stage: no socket");
  EXPECT_EQ(thrown(std::bad_alloc()), "ERROR: oom: out of memory in the stage");
}

TEST(IsolatedTest, WhoHangsIsEnded) {
  const auto start = std::chrono::steady_clock::now();
  const Verdict verdict = judge_in_stage(
      []() -> Verdict {
        while (true) pause();
      },
      milliseconds(500));
  EXPECT_FALSE(verdict.is_ok);
  EXPECT_EQ(verdict.line, "ERROR: timeout: nothing has happened for 0.5 s in the stage");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(IsolatedTest, WhoIsSlowButAliveIsNotEnded) {
  const Verdict verdict = judge_isolated(
      [](Progress& progress) {
        for (int i = 0; i < 30; ++i) {
          std::this_thread::sleep_for(milliseconds(100));
          progress.beat();
        }
        return Verdict{true, "ok"};
      },
      ignore, milliseconds(2000));
  EXPECT_EQ(verdict.line, "ok");
}

TEST(IsolatedTest, StagesAreShown) {
  std::vector<std::string> shown;
  judge_isolated(
      [](Progress& progress) {
        progress.begin("the only one");
        std::this_thread::sleep_for(milliseconds(500));
        return Verdict{true, "ok"};
      },
      [&](const std::string& stage) { shown.push_back(stage); });
  EXPECT_THAT(shown, testing::Contains("the only one"));
}

// Crashes when a certain timer is cancelled.
class CrashesAtCancel : public SortedList {
 public:
  using SortedList::SortedList;
  bool cancel(TimerId id) {
    if (id == 3) std::abort();
    return SortedList::cancel(id);
  }
};

TEST(VerifyTest, ACrashIsToldWithTheLastCalls) {
  const Verdict verdict =
      verify(make_backend<CrashesAtCancel>(), 1, std::chrono::duration<double>(0), ignore);
  EXPECT_FALSE(verdict.is_ok);
  EXPECT_THAT(verdict.line, HasSubstr("ERROR: crash: SIGABRT in rule_4_cancel"));
  EXPECT_THAT(verdict.evidence, HasSubstr("a new queue of capacity 4, start 0, granularity 1\n"));
  EXPECT_TRUE(verdict.evidence.ends_with("  cancel(3)\n")) << verdict.evidence;
}

class ForgetsATimer : public SortedList {
 public:
  using SortedList::SortedList;
  void schedule(TimerId id, Tick deadline) {
    if (deadline != 21) SortedList::schedule(id, deadline);
  }
};

TEST(VerifyTest, AViolationIsToldWithTheCallThatWentWrong) {
  const Verdict verdict =
      verify(make_backend<ForgetsATimer>(), 1, std::chrono::duration<double>(0), ignore);
  EXPECT_FALSE(verdict.is_ok);
  EXPECT_THAT(verdict.line, HasSubstr("WRONG: rule_1_never_early of bench/verify/contract.cc: "
                                      "rule 3: size() is 0 with 1 timers pending"));
  EXPECT_EQ(verdict.evidence,
            "  the last calls, of which the last went wrong:\n"
            "       1  a new queue of capacity 1, start 0, granularity 1\n"
            "       2  schedule(0, 21)\n"
            "       3  size() -> 0\n");
}

}  // namespace
}  // namespace timerbench
