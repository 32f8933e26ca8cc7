// Contenders that are other programs: good ones are audited and timed, and broken ones do no harm.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "process/process_peer.h"
#include "scratch.h"
#include "system/supervised_program.h"
#include "verify/check.h"

namespace timerbench {
namespace {

using namespace std::chrono_literals;

const StopFlag kNoStop = false;

constexpr std::string_view kDescription =
    R"({"name": "peer", "summary": "a test", "precision": "exact", "version": "1"})";

class ProcessTest : public testing::Test {
 protected:
  // A program that describes itself, and does `what` when it is asked to replay.
  std::string program(std::string_view what, std::string_view description = kDescription) {
    const auto path = scratch_.write(
        "peer", fmt::format("#!/bin/bash\nif [ $1 = describe ]; then echo '{}'; exit; fi\n{}\n",
                            description, what));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  // A program that writes these fires, and tells these counts.
  std::string program_of_fires(std::string_view rows, std::string_view counts) {
    return program(
        fmt::format("file=${{@: -1}}; printf 'now,id,deadline\n{}' > \"${{file#*=}}\"\n"
                    "echo '{{\"elapsed_ns\": 1, {}}}'",
                    rows, counts));
  }

  // What is wrong with the fires of a program, for: arm 0 for 5 and 1 for 9, to 6, cancel 1.
  static std::string wrong(const std::string& command) {
    const Backend backend = backend_of(command);
    const std::vector<Op> ops{schedule_op(0, 5), schedule_op(1, 9), advance_op(6), cancel_op(1)};
    const auto violation = audit(backend, 2, ops, {}, kNoStop).violation;
    return violation ? violation->text : "";
  }

  static Backend backend_of(const std::string& command) {
    auto process = std::make_shared<const ProcessPeer>(command);
    return {.traits = process->traits(), .process = process};
  }

  static std::string failure_of(const std::string& command) {
    return error_of([&] {
      const ProcessPeer peer(command);
      const Trace trace({.capacity = 1, .workload = "test"}, {schedule_op(0, 5), advance_op(6)});
      peer.replay({&trace, 1}, 1, 0.1s, 5s, kNoStop);
    });
  }

  Scratch scratch_;
};

// Nobody else sleeps for so long. What has it among its words is asleep, or makes others sleep.
constexpr std::string_view kSleeper = "sleep 86399.25";

bool is_anybody_asleep() {
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string words{std::istreambuf_iterator<char>(file), {}};
    std::ranges::replace(words, '\0', ' ');
    if (words.find(kSleeper) != std::string::npos) return true;
  }
  return false;
}

void expect_nobody_asleep() {
  for (int i = 0; i < 100 && is_anybody_asleep(); ++i) std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(is_anybody_asleep());
}

TEST_F(ProcessTest, DescribesItself) {
  const ProcessPeer peer(program(
      "",
      R"({"name": "my_heap", "summary": "a heap", "precision": "granular", )"
      R"("version": "2.1", "ordered": true, "walks_ticks": true, "files": ["/etc/hostname"]})"));
  EXPECT_EQ(peer.traits().name, "my_heap");
  EXPECT_EQ(peer.traits().precision, Precision::granular);
  EXPECT_EQ(peer.traits().paper, "2.1");
  EXPECT_TRUE(peer.traits().ordered);
  EXPECT_EQ(licence(peer.traits()), "advance() walks every tick");
  EXPECT_TRUE(peer.traits().is_library);
  EXPECT_EQ(peer.files(), std::vector<std::string>{"/etc/hostname"});

  const ProcessPeer plain(program(""));
  EXPECT_FALSE(plain.traits().ordered);
  EXPECT_EQ(licence(plain.traits()), "");
  EXPECT_EQ(plain.files(), std::vector<std::string>{});
}

TEST_F(ProcessTest, ABadDescriptionIsRefusedByItsMember) {
  const auto refused = [&](std::string_view description) {
    return failure_of(program("", description));
  };
  EXPECT_NE(refused("[]").find("prints [] where a JSON object"), std::string::npos);
  EXPECT_NE(refused(R"({"name": "my_heap"})").find(R"("summary")"), std::string::npos);
  EXPECT_NE(refused(R"({"name": "My Heap", "summary": "", "precision": "exact", "version": ""})")
                .find("a name as my_heap"),
            std::string::npos);
  EXPECT_NE(refused(R"({"name": "heap", "summary": "", "precision": "good", "version": ""})")
                .find("granular"),
            std::string::npos);
  EXPECT_NE(refused(R"({"name": "heap", "summary": "", "precision": "exact", "version": "", )"
                    R"("walks_ticks": 1})")
                .find(R"("walks_ticks" of its description is not true or false)"),
            std::string::npos);
}

TEST_F(ProcessTest, FiresAsTheTraceSaysAreRight) {
  EXPECT_EQ(wrong(program_of_fires("6,0,5\n", R"("fired": 1, "cancelled": 1, "pending": 0)")), "");
}

TEST_F(ProcessTest, EachWrongFireIsNamed) {
  const std::string good = R"("fired": 1, "cancelled": 1, "pending": 0)";
  const auto expect = [&](std::string_view rows, std::string_view counts, std::string_view part) {
    const std::string text = wrong(program_of_fires(rows, counts));
    EXPECT_NE(text.find(part), std::string::npos) << rows << counts << ": " << text;
  };
  expect("", good, "operation 2: rule 2: timer 0");                             // missing
  expect("6,1,9\n", good, "operation 2: rule 1: timer 1");                      // early
  expect("6,0,5\n6,0,5\n", good, "after the last operation: rule 3: timer 0");  // twice
  expect("5,0,5\n", good, "no advance() goes there");
  expect("6,0,4\n", good, "rule 2");  // it waits, and then it is late
  expect("6,7,5\n6,0,5\n", good, "rule 2");
  expect("6,0,5\n", R"("fired": 2, "cancelled": 1, "pending": 0)", "tells 2 fired");
  expect("6,0,5\n", R"("fired": 1, "cancelled": 0, "pending": 0)", "tells 0 cancelled");
  expect("6,0,5\n", R"("fired": 1, "cancelled": 1, "pending": 1)", "tells 1 pending");
}

TEST_F(ProcessTest, FiresThatAreNoRowsAreAnError) {
  const std::string good = R"("fired": 1, "cancelled": 1, "pending": 0)";
  for (const std::string_view rows : {"six,0,5\n", "6,0\n", "6,0,5,1\n", "-6,0,5\n"}) {
    const std::string text = error_of([&] { wrong(program_of_fires(rows, good)); });
    EXPECT_TRUE(text.starts_with("error: line 2 of its fires")) << text;
  }
  const std::string text = error_of([&] {
    wrong(program(R"(echo '{"elapsed_ns": 1, "fired": 1, "cancelled": 1, "pending": 0}')"));
  });
  EXPECT_TRUE(text.starts_with("error: its fires: ")) << text;
}

// Timers may be armed for now between two advances to one instant.
TEST_F(ProcessTest, FiresOfOneInstantBelongToTheAdvanceAfterTheArming) {
  const Backend backend = backend_of(
      program_of_fires("6,0,5\n6,0,6\n6,1,6\n", R"("fired": 3, "cancelled": 0, "pending": 0)"));
  const std::vector<Op> ops{schedule_op(0, 5), schedule_op(1, 9), advance_op(6), schedule_op(0, 0),
                            advance_op(0),     schedule_op(1, 0), advance_op(0)};
  const auto violation = audit(backend, 2, ops, {}, kNoStop).violation;
  EXPECT_FALSE(violation) << violation->text;
}

TEST_F(ProcessTest, AProgramThatFailsSaysWhy) {
  const auto expect = [&](std::string_view what, std::string_view text) {
    const std::string failure = failure_of(program(what));
    EXPECT_NE(failure.find(text), std::string::npos) << what << ": " << failure;
  };
  expect("exit 3", "error: it ends with exit code 3");
  expect("echo first >&2; echo the reason >&2; exit 1", "exit code 1: the reason");
  expect("kill -SEGV $$", "Segmentation fault");
  expect("true", "error: it tells of 0 replays, and 3 are wanted");
  expect("echo hello", "error: it prints hello where a JSON object");
  expect("echo '{\"elapsed_ns\": -1}'", R"("elapsed_ns" of its replay is not a whole number)");
  expect("tr '\\0' x < /dev/zero", "a line of more than 65536 bytes");
  expect("exec dd if=/dev/zero of=/dev/shm/timerbench_test_$$ bs=1M count=100 2> /dev/null",
         "error: it ends");
  std::system("rm -f /dev/shm/timerbench_test_*");
}

// What it writes in all is limited, whoever of its children writes it and wherever.
TEST_F(ProcessTest, OneThatWritesManyFilesIsEnded) {
  const std::string folder = scratch_.path("many");
  const auto write_while = [&](std::string_view condition) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    SupervisedProgram writer(
        {"/bin/bash", "-c",
         fmt::format("for ((i = 0; {}; ++i)); do head -c 900000 /dev/zero > {}/$i & wait; done",
                     condition, folder)},
        1 << 20);
    writer.next_line(20s, kNoStop);
  };
  const std::string_view failure = "error: it writes more than 4 MiB";
  EXPECT_EQ(error_of([&] { write_while("1"); }), failure);
  EXPECT_EQ(error_of([&] { write_while("i < 6"); }), failure);  // though it may end before a look
  EXPECT_NO_THROW(write_while("i < 4"));
}

// However it takes the room: it may do so without writing.
TEST_F(ProcessTest, OneThatLeavesTooLittleRoomIsEnded) {
  const auto before = std::signal(SIGTERM, [](int) {});  // as the program's, which a fork inherits
  const std::string failure = error_of([&] {
    SupervisedProgram hungry({"/bin/sh", "-c", std::string(kSleeper)}, std::uint64_t{1} << 58);
    hungry.next_line(20s, kNoStop);
  });
  EXPECT_TRUE(failure.ends_with("has less than 1099511627776 MiB of room, which it may take"))
      << failure;
  expect_nobody_asleep();
  std::signal(SIGTERM, before);
}

// Also if it writes to one file again and again.
TEST_F(ProcessTest, AllThatItStartsEndsWithOneThatWritesTooMuch) {
  const std::string failure = error_of([&] {
    SupervisedProgram writer({"/bin/bash", "-c",
                              fmt::format("setsid {} & while :; do (head -c 900000 /dev/zero > "
                                          "{}; setsid true) & wait $!; done",
                                          kSleeper, scratch_.path("again").string())},
                             1 << 20);
    writer.next_line(20s, kNoStop);
  });
  EXPECT_EQ(failure, "error: it writes more than 4 MiB");
  expect_nobody_asleep();
}

// What it prints is no file.
TEST_F(ProcessTest, OneMayPrintAsMuchAsItLikes) {
  SupervisedProgram talker({"/bin/sh", "-c", "seq 1000000; seq 1000000 >&2"}, 1 << 20);
  std::size_t lines = 0;
  while (talker.next_line(20s, kNoStop)) ++lines;
  EXPECT_EQ(lines, 1'000'000u);
}

TEST_F(ProcessTest, AMissingProgramIsNamed) {
  EXPECT_EQ(failure_of("/nowhere/peer"),
            "'/nowhere/peer describe': error: it ends with exit code 127: sh: 1: /nowhere/peer: "
            "not found");
}

TEST_F(ProcessTest, ASilentOneIsATimeout) {
  const std::string failure = error_of([&] {
    SupervisedProgram silent({"/bin/sh", "-c", std::string(kSleeper)}, 1 << 20);
    silent.next_line(0.3s, kNoStop);
  });
  EXPECT_EQ(failure, "timeout: it prints nothing for 0.3 s");
  expect_nobody_asleep();
}

TEST_F(ProcessTest, OneThatDoesNotEndIsATimeout) {
  const std::string failure = error_of([&] {
    wrong(program(
        R"(while echo '{"elapsed_ns": 1, "fired": 1, "cancelled": 0, "pending": 0}'; do :; done)"));
  });
  EXPECT_EQ(failure, "timeout: it does not end, and tells of 2 replays so far");
}

TEST_F(ProcessTest, AReplayThatTakesTooLongEndsTheProcess) {
  EXPECT_EQ(failure_of(program(
                fmt::format("echo '{{\"elapsed_ns\": 6000000000, \"fired\": 1, \"cancelled\": 0, "
                            "\"pending\": 0}}'; {}",
                            kSleeper))),
            "timeout: one replay takes more than 5 s");
  expect_nobody_asleep();
}

// Children that left their session and whose parents have ended are killed as well.
TEST_F(ProcessTest, AllThatItStartsEndsWithIt) {
  failure_of(program(fmt::format("setsid {0} & (setsid {0} & setsid {0} &) ; exit 1", kSleeper)));
  expect_nobody_asleep();
}

TEST_F(ProcessTest, OneThatStartsVeryManyIsEnded) {
  const std::string failure = error_of([&] {
    SupervisedProgram bomb(
        {"/bin/bash", "-c",
         fmt::format("for ((i = 0; i < 2000; ++i)); do setsid {} & done; wait", kSleeper)},
        1 << 20);
    bomb.next_line(60s, kNoStop);
  });
  EXPECT_EQ(failure, "error: it has more than 1000 processes at a time");
  expect_nobody_asleep();
}

// Each has a session of its own, and has ended before anybody can ask for its children.
TEST_F(ProcessTest, OneWhoseChildrenStartOthersAllTheTimeIsEnded) {
  const std::string hop =
      "import os, time\n"
      "end = time.monotonic() + 60\n"
      "while time.monotonic() < end:\n"
      "  if os.fork(): os._exit(0)\n"
      "  os.setsid()\n";
  try {
    SupervisedProgram hopper({"/usr/bin/python3", "-c", hop, "sleep", "86399.25"}, 1 << 20);
    EXPECT_FALSE(hopper.next_line(20s, kNoStop));
  } catch (const ProgramFailure& failure) {
    // Those that have ended are kept until the last is caught, which may be many on a busy machine.
    EXPECT_STREQ(failure.what(), "error: it has more than 1000 processes at a time");
  }
  expect_nobody_asleep();
}

// As by kill -9 of a campaign.
TEST_F(ProcessTest, AllEndsWhenThisProcessIsKilled) {
  const std::string command = program(fmt::format("setsid {0} & {0}", kSleeper));
  const pid_t child = fork();
  if (child == 0) {
    failure_of(command);
    _exit(0);
  }
  for (int i = 0; i < 250 && !is_anybody_asleep(); ++i) std::this_thread::sleep_for(20ms);
  ASSERT_TRUE(is_anybody_asleep());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  expect_nobody_asleep();
}

TEST_F(ProcessTest, TheUsersInterruptEndsIt) {
  StopFlag stop = false;
  SupervisedProgram slow({"/bin/sh", "-c", std::string(kSleeper)}, 1 << 20);
  std::thread user([&] {
    std::this_thread::sleep_for(100ms);
    stop = true;
  });
  EXPECT_THROW(slow.next_line(1000s, stop), Interrupted);
  user.join();
}

// It is told the expected outcome by no file.
TEST_F(ProcessTest, TheTraceIsGivenWithoutItsOutcome) {
  const std::string kept = scratch_.path("kept");
  Trace trace({.capacity = 1, .workload = "test"}, {schedule_op(0, 5), advance_op(6)});
  trace.set_outcome({.fired = 1});
  trace.set_setup_outcome({});
  const ProcessPeer peer(
      program(fmt::format("cp $2.json {}; for i in 1 2 3; do echo '{{\"elapsed_ns\": 1, \"fired\": "
                          "1, \"cancelled\": 0, "
                          "\"pending\": 0}}'; done",
                          kept)));
  EXPECT_EQ(peer.replay({&trace, 1}, 1, 0.1s, 5s, kNoStop).size(), 3u);
  EXPECT_NE(scratch_.read("kept").find("\"capacity\": 1"), std::string::npos);
  EXPECT_EQ(scratch_.read("kept").find("outcome"), std::string::npos);
}

}  // namespace
}  // namespace timerbench
