// Traces that are larger than the memory that a program takes for them.
#include "trace/op_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "replay/make_backend.h"
#include "scratch.h"
#include "system/output_file.h"
#include "trace/trace.h"

namespace timerbench {
namespace {

constexpr std::uint64_t kMany = 5 * kWindowOps + 12'345;

Op nth(std::uint64_t i) { return i % 3 == 0 ? advance_op(1) : schedule_op(i % 1000, i % 77); }

StoredOps stored(std::uint64_t count) {
  OpStore store;
  for (std::uint64_t i = 0; i < count; ++i) store.push_back(nth(i));
  EXPECT_EQ(store.size(), count);
  return store.finish();
}

// Of this process, in bytes.
std::uint64_t field(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == name + ":") {
      std::uint64_t kib = 0;
      status >> kib;
      return kib * 1024;
    }
  }
  return 0;
}

TEST(OpStore, GivesBackWhatItWasGiven) {
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, kWindowOps - 1, kWindowOps,
                                    kWindowOps + 1, 2 * kWindowOps, kMany}) {
    const StoredOps ops = stored(count);
    ASSERT_EQ(ops.ops.size(), count);
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(ops.ops[i], nth(i)) << i;
  }
}

TEST(OpStore, WindowsAreAllOfIt) {
  const StoredOps ops = stored(kMany);
  std::uint64_t next = 0;
  for_each_window(ops.ops, [&](std::span<const Op> window) {
    EXPECT_LE(window.size(), kWindowOps);
    for (const Op op : window) ASSERT_EQ(op, nth(next++));
  });
  EXPECT_EQ(next, kMany);
}

// Advice to forget would empty memory that is no file's.
TEST(OpStore, WindowsOfMemoryLoseNothing) {
  std::vector<Op> ops(3 * kWindowOps);
  for (std::uint64_t i = 0; i < ops.size(); ++i) ops[i] = nth(i);
  for_each_window(ops, [](std::span<const Op>) {});
  touch_pages(ops.data(), ops.size() * sizeof(Op));
  for (std::uint64_t i = 0; i < ops.size(); ++i) ASSERT_EQ(ops[i], nth(i)) << i;
}

TEST(OpStore, ATraceOfManyWindowsTakesTheMemoryOfAFew) {
  const std::uint64_t before = field("RssFile");
  std::uint64_t most = 0;
  const auto look = [&] {
    most = std::max(most, field("RssFile") - std::min(before, field("RssFile")));
  };
  const Scratch scratch;
  const auto path = scratch.path("many");
  {
    const Trace trace({.capacity = 1000, .workload = "many"}, stored(kMany));
    look();
    trace.save(path);
    look();
  }
  const Trace loaded = Trace::load(path);
  look();
  EXPECT_EQ(loaded.ops().size(), kMany);
  for_each_window(loaded.ops(), [&](std::span<const Op> window) {
    EXPECT_GT(count_ops(window).schedules, 0U);
    look();
  });
  EXPECT_LE(most, 2 * kWindowBytes) << "all is " << kMany * sizeof(Op);
}

// A queue that does nothing but look for page faults of its thread, every thousand operations.
class FaultWatcher {
 public:
  static constexpr Traits traits{.name = "fault_watcher",
                                 .summary = "looks for page faults",
                                 .precision = Precision::none,
                                 .ordered = false,
                                 .paper = ""};

  explicit FaultWatcher(const QueueConfig&) { looks_with_faults = 0; }

  void schedule(TimerId, Tick) { look(); }
  bool cancel(TimerId) { return false; }
  template <class Sink>
  std::size_t advance(Tick, Sink&&) {
    look();
    return 0;
  }
  Tick next_wakeup() const { return kNever; }
  std::size_t size() const { return 0; }

  static inline std::uint64_t looks_with_faults = 0;

 private:
  void look() {
    if (++calls_ % 1'000 != 0) return;
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    looks_with_faults += used.ru_minflt != faults_ && faults_ != 0;
    faults_ = used.ru_minflt;
  }

  std::uint64_t calls_ = 0;
  long faults_ = 0;  // minor ones; 0: did not look yet
};

// Otherwise the kernel's part is timed, too. On a virtual machine where faults are slow it was nine
// tenths of a replay that does nothing.
// The setup reads the same operations, and would leave them unmapped if it released them.
TEST(OpStore, OperationsAreMappedBeforeTheyAreTimedAndStayMapped) {
  const StoredOps stored_ops = stored(kMany);
  const StopFlag stop{false};
  const auto replayed =
      time_replay<FaultWatcher>({.capacity = 1000}, stored_ops.ops, stored_ops.ops, stop, nullptr);
  EXPECT_FALSE(replayed.stopped);
  EXPECT_GT(replayed.elapsed.count(), 0);
  EXPECT_LE(FaultWatcher::looks_with_faults, 4U);  // for other reasons
}

TEST(OpStore, NoRoomForTemporaryFilesIsSaid) {
  setenv("TMPDIR", "/proc/nowhere", 1);
  OpStore store;
  try {
    for (std::uint64_t i = 0; i < kWindowOps; ++i) store.push_back(nth(i));
    ADD_FAILURE() << "it went somewhere";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("set TMPDIR"), std::string::npos) << error.what();
  }
  unsetenv("TMPDIR");
}

// As where a disk is full: part of a window is written, and then nothing more.
TEST(OpStore, AFileThatTakesNoMoreIsSaid) {
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit half{kWindowBytes / 2, usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &half), 0);
  const std::string said = error_of([] { stored(kWindowOps); });
  setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(said.find("File too large; set TMPDIR"), said.npos) << said;
}

}  // namespace
}  // namespace timerbench
