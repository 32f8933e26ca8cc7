// The journal of durable/journal.h: what it keeps when files are damaged, disks are full and
// threads commit together.
#include "durable/journal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "durable/engine.h"
#include "durable/journal_engine.h"
#include "durable/journal_queue.h"
#include "durable/journal_store.h"
#include "queues/index_heap.h"
#include "queues/log_wheel.h"
#include "scratch.h"
#include "time_limit.h"

namespace timerbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

using Records = std::vector<std::string>;

// What happens in the midst of the next call of the system by that name, once.
std::function<void()> at_flock, at_ftruncate;
int error_of_fdatasync = 0;  // of the next one

void happen(std::function<void()>& what) {
  if (const auto now = std::exchange(what, nullptr)) now();
}

}  // namespace
}  // namespace timerbench

extern "C" {

int flock(int file, int how) noexcept {
  timerbench::happen(timerbench::at_flock);
  return static_cast<int>(syscall(SYS_flock, file, how));
}

int ftruncate(int file, off_t bytes) noexcept {
  timerbench::happen(timerbench::at_ftruncate);
  return static_cast<int>(syscall(SYS_ftruncate, file, bytes));
}

int fdatasync(int file) {
  if (const int error = std::exchange(timerbench::error_of_fdatasync, 0)) {
    errno = error;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fdatasync, file));
}

}  // extern "C"

namespace timerbench {
namespace {

// While it lives, no file takes more bytes.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);  // so that a file that is too large is an error
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit full = before_;
    full.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &full);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

class JournalTest : public ::testing::Test {
 protected:
  // Opens it, and reads the records into records_.
  std::unique_ptr<Journal> open(std::chrono::microseconds gather = 0us) {
    records_.clear();
    return std::make_unique<Journal>(
        path(), gather, [this](std::string_view record) { records_.emplace_back(record); });
  }

  Records read() {
    open();
    return records_;
  }

  static void write(Journal& journal, const Records& records) {
    for (const std::string& record : records) journal.append(record);
    journal.commit(journal.end());
  }

  std::filesystem::path path() const { return scratch_.path("journal"); }

  const Scratch scratch_;
  Records records_;
};

TEST_F(JournalTest, KeepsRecordsOfAnyBytesInTheirOrder) {
  const Records records{"one", "", std::string("\0\xff\n", 3), std::string(3'000'000, 'x')};
  write(*open(), records);
  EXPECT_EQ(read(), records);
  write(*open(), {"last"});
  EXPECT_EQ(read().back(), "last");
  EXPECT_EQ(read().size(), 5U);
}

TEST_F(JournalTest, KeepsAllBeforeAnUnfinishedRecordAndTellsNobody) {
  write(*open(), {"one", "two", "three"});
  const std::string good = scratch_.read("journal");
  const std::size_t first = good.find("one") - Journal::kHeadBytes;
  for (std::size_t length = first; length < good.size(); ++length) {
    scratch_.write("journal", std::string_view(good).substr(0, length));
    const auto journal = open();
    const Records all{"one", "two", "three"};
    EXPECT_EQ(records_, Records(all.begin(), all.begin() + static_cast<long>(records_.size())));
    EXPECT_LT(records_.size(), 3U);
    EXPECT_EQ(journal->bytes(), std::filesystem::file_size(path()));
    EXPECT_EQ(journal->damage(), "");
    EXPECT_THAT(scratch_.names(), ElementsAre("journal"));
  }
}

TEST_F(JournalTest, CutsOffWhatIsBehindAFlippedBitAndTellsIt) {
  write(*open(), {"one", "two", "three"});
  const std::string good = scratch_.read("journal");
  const std::size_t first = good.find("one") - Journal::kHeadBytes;
  const std::size_t last = good.find("three") - Journal::kHeadBytes;
  for (std::size_t at = first; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    scratch_.write("journal", bad);
    const auto journal = open();
    const Records found = records_, all{"one", "two", "three"};
    ASSERT_LT(found.size(), 3U) << at;
    EXPECT_EQ(found, Records(all.begin(), all.begin() + static_cast<long>(found.size()))) << at;
    const bool is_of_the_first = at < first + Journal::kHeadBytes + 3;
    EXPECT_EQ(found.empty(), is_of_the_first) << at;
    // The last record only seems to be longer, but for the highest byte: none is so long.
    EXPECT_EQ(journal->damage().empty(), at >= last && at < last + 3) << at;
  }
}

TEST_F(JournalTest, PutsDamageAsideAndOverwritesNothing) {
  write(*open(), {"one", "two", "three"});
  const std::string good = scratch_.read("journal");
  const std::size_t second = good.find("two") - Journal::kHeadBytes;
  for (const std::string aside : {"journal.damaged.1", "journal.damaged.2"}) {
    std::string bad = good;
    bad[good.find("two")] = aside.back();
    scratch_.write("journal", bad);
    EXPECT_THAT(open()->damage(),
                StartsWith(fmt::format("{} is damaged at byte {}: the {} bytes from there are no "
                                       "longer in it, but in {};",
                                       path().string(), second, good.size() - second,
                                       scratch_.path(aside).string())));
    EXPECT_EQ(open()->damage(), "");
    EXPECT_EQ(scratch_.read(aside), bad.substr(second));
  }
  EXPECT_EQ(scratch_.read("journal.damaged.1")[Journal::kHeadBytes], '1');
}

// What is damaged is the only copy.
TEST_F(JournalTest, LeavesDamageWhereItIsIfThereIsNoRoomAside) {
  write(*open(), {"one"});
  std::string bad = scratch_.read("journal");
  bad.back() = 'x';
  scratch_.write("journal", bad);
  {
    const FullDisk full(3);
    EXPECT_THROW(open(), BackendUnavailable);
  }
  EXPECT_EQ(scratch_.read("journal"), bad);
  EXPECT_THAT(scratch_.names(), ElementsAre("journal"));
}

TEST_F(JournalTest, GoesOnAfterItsEndWasCutOff) {
  write(*open(), {"one", "two"});
  const std::string good = scratch_.read("journal");
  scratch_.write("journal", std::string_view(good).substr(0, good.size() - 1));
  write(*open(), {"three"});
  EXPECT_THAT(read(), ElementsAre("one", "three"));
}

TEST_F(JournalTest, BeginsAnewIfItsCreationWasInterrupted) {
  open();
  const std::string magic = scratch_.read("journal");
  for (std::size_t length = 0; length < magic.size(); ++length) {
    scratch_.write("journal", magic.substr(0, length));
    write(*open(), {"one"});
    EXPECT_THAT(read(), ElementsAre("one")) << length;
  }
}

TEST_F(JournalTest, RefusesAFileOfOthersAndLeavesItAlone) {
  for (const std::string foreign : {"SQLite format 3", "x", "timerbench journal 2\nabc"}) {
    scratch_.write("journal", foreign);
    try {
      open();
      ADD_FAILURE() << foreign;
    } catch (const BackendUnavailable& error) {
      EXPECT_THAT(error.what(), HasSubstr("is no journal of timers"));
    }
    EXPECT_EQ(scratch_.read("journal"), foreign);
  }
}

TEST_F(JournalTest, SaysWhatIsMissing) {
  const auto error_at = [](const std::filesystem::path& path) -> std::string {
    try {
      const Journal journal(path, 0us, [](std::string_view) {});
    } catch (const BackendUnavailable& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_at("/no/such/folder/journal"), HasSubstr("No such file or directory"));
  EXPECT_THAT(error_at("/tmp"), HasSubstr("/tmp: cannot open it: Is a directory"));
  EXPECT_THAT(error_at("/dev/null"), HasSubstr("/dev/null is no regular file"));
  const std::filesystem::path pipe = scratch_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_at(pipe), HasSubstr("pipe is no regular file"));
}

TEST_F(JournalTest, IsOfOneProcess) {
  const auto journal = open();
  EXPECT_THROW(Journal(path(), 0us, [](std::string_view) {}), BackendUnavailable);
}

TEST_F(JournalTest, KeepsAllWhenTheDiskIsFull) {
  auto journal = open();
  write(*journal, {"before"});
  const std::string large(1000, 'x');
  {
    const FullDisk full(journal->bytes() + 100);
    const Journal::Place place = journal->append(large);
    EXPECT_THROW(journal->commit(place), BackendError);
    EXPECT_THROW(journal->commit(place), BackendError);
    EXPECT_THROW(journal->append("refused"), BackendError);
    EXPECT_EQ(scratch_.read("journal").find('x'), std::string::npos);
  }
  write(*journal, {"after"});
  journal.reset();
  EXPECT_THAT(read(), ElementsAre("before", large, "after"));
}

TEST_F(JournalTest, KeepsTheOrderWhenTheDiskIsFull) {
  auto journal = open();
  const std::string large(1000, 'x');
  {
    const FullDisk full(journal->bytes() + 100);
    const Journal::Place place = journal->append(large);
    at_ftruncate = [&] { journal->append("later"); };  // while the first is written
    EXPECT_THROW(journal->commit(place), BackendError);
  }
  write(*journal, {"after"});
  journal.reset();
  EXPECT_THAT(read(), ElementsAre(large, "later", "after"));
}

TEST_F(JournalTest, TakesNothingMoreAfterAFailedSynchronisation) {
  auto journal = open();
  write(*journal, {"one"});
  const Journal::Place place = journal->append("two");
  error_of_fdatasync = EIO;
  EXPECT_THROW(journal->commit(place), BackendError);
  EXPECT_THROW(journal->commit(place), BackendError);
  EXPECT_THROW(journal->append("three"), BackendError);
  EXPECT_THROW(journal->rewrite([](const Journal::Visit& append) { append("new"); }), BackendError);
  journal.reset();
  EXPECT_THAT(read(), ElementsAre("one", "two"));
}

TEST_F(JournalTest, BeginsOnceTheDiskHasRoom) {
  {
    const FullDisk full(10);
    EXPECT_THROW(open(), BackendUnavailable);
  }
  write(*open(), {"one"});
  EXPECT_THAT(read(), ElementsAre("one"));
}

// It would be taken for damaged, and cut off with what is behind it.
TEST_F(JournalTest, RefusesARecordThatItCouldNotReadAgain) {
  const Records longest{std::string(Journal::kLongestRecord, 'x'), "last"};
  write(*open(), longest);
  EXPECT_EQ(read(), longest);
  EXPECT_THROW(open()->append(longest[0] + 'x'), std::invalid_argument);
}

TEST_F(JournalTest, SharesASynchronisationAmongThreads) {
  constexpr int kThreads = 8, kEach = 50;
  const auto journal = open(500us);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) journal->commit(journal->append("x"));
    });
  }
  threads.clear();
  EXPECT_LT(journal->synchronisations(), kThreads * kEach / 2U);
}

TEST_F(JournalTest, IsReplacedInOneStep) {
  {
    const auto journal = open();
    write(*journal, {"old", "older"});
    journal->append("not committed yet");
    journal->rewrite([](const Journal::Visit& append) {
      append("new");
      append(std::string(3'000'000, 'x'));
    });
    journal->commit(journal->end());  // at once
    write(*journal, {"later"});
    EXPECT_THROW(Journal(path(), 0us, [](std::string_view) {}), BackendUnavailable);
  }
  EXPECT_THAT(read(), ElementsAre("new", std::string(3'000'000, 'x'), "later"));
  EXPECT_FALSE(std::filesystem::exists(path().string() + ".new"));
}

TEST_F(JournalTest, IsOfOneProcessAlsoIfItIsReplacedWhenAnotherOpensIt) {
  const auto journal = open();
  at_flock = [&] { journal->rewrite([](const Journal::Visit& append) { append("new"); }); };
  EXPECT_THROW(Journal(path(), 0us, [](std::string_view) {}), BackendUnavailable);
}

TEST_F(JournalTest, KeepsTheOldRecordsIfThereIsNoRoomForNewOnes) {
  auto journal = open();
  write(*journal, {"old"});
  std::filesystem::create_directory(path().string() + ".new");
  EXPECT_THROW(journal->rewrite([](const Journal::Visit& append) { append("new"); }), BackendError);
  write(*journal, {"later"});
  journal.reset();
  EXPECT_THAT(read(), ElementsAre("old", "later"));
}

// --- The store over it ---

template <class Queue>
class JournalStoreTest : public ::testing::Test {
 protected:
  using Store = JournalStore<Queue>;

  // A clock that stands still.
  static auto at(Tick now) {
    return [now] { return now; };
  }

  Store open() const { return {scratch_.path("journal"), 0us, JournalQueue::kGranularity, 0}; }

  const Scratch scratch_;
};

using Queues = ::testing::Types<LogWheel<256>, IndexHeap<4>>;
TYPED_TEST_SUITE(JournalStoreTest, Queues);

// They could not be completed, so they would be handed out again and again.
TYPED_TEST(JournalStoreTest, HandsOutNothingAfterAFailedSynchronisation) {
  auto store = this->open();
  const std::vector<DurableTimer> due{{1, 0, ""}};
  store.schedule(due);
  error_of_fdatasync = EIO;
  EXPECT_THROW(store.schedule(due), BackendError);
  EXPECT_THROW(store.claim(10, 1'000'000'000, this->at(10'000'000)), BackendError);
}

TYPED_TEST(JournalStoreTest, KeepsItsFileShort) {
  std::vector<DurableTimer> timers;
  {
    auto store = this->open();
    for (int round = 0; round < 100; ++round) {
      timers.clear();
      for (DurableId id = 0; id < 1000; ++id) {
        timers.push_back({id, 1'000'000 * (id + static_cast<Tick>(round)), "payload"});
      }
      store.schedule(timers);
    }
    EXPECT_EQ(store.size(), 1000U);
    EXPECT_LT(std::filesystem::file_size(this->scratch_.path("journal")), 1'200'000U);
  }
  auto store = this->open();
  Claims claims = store.claim(10'000, 1, this->at(kLastDeadline));
  EXPECT_EQ(claims.timers.size(), 1000U);
  std::vector<DurableTimer> kept;
  for (const ClaimedTimer& claim : claims.timers) kept.push_back(claim.timer);
  std::ranges::sort(kept, {}, &DurableTimer::id);
  EXPECT_EQ(kept, timers);
}

TYPED_TEST(JournalStoreTest, ShortensItsFileWhenTimersAreGone) {
  std::vector<DurableTimer> timers;
  for (DurableId id = 0; id < 60'000; ++id) timers.push_back({id, kLastDeadline, "payload"});
  this->open().schedule(timers);
  auto store = this->open();
  EXPECT_GT(std::filesystem::file_size(this->scratch_.path("journal")), 1'800'000U);
  const Claims none = store.claim(1, 1, this->at(1'000'000));
  EXPECT_TRUE(none.timers.empty());
  const Claims all = store.claim(timers.size(), kLastDeadline, this->at(kLastDeadline));
  for (std::size_t i = 0; i < all.timers.size(); i += 1000) {
    store.complete(std::span(all.timers).subspan(i, 1000));
  }
  EXPECT_EQ(store.size(), 0U);
  EXPECT_LE(std::filesystem::file_size(this->scratch_.path("journal")), 1'200'000U);
}

// Each try takes as long as to write all timers.
TYPED_TEST(JournalStoreTest, TriesToShortenItsFileAgainWhenThatIsTwiceAsLong) {
  const std::filesystem::path file = this->scratch_.path("journal"),
                              obstacle = file.string() + ".new";
  auto store = this->open();
  const DurableTimer timer{1, kLastDeadline, std::string(kLongestPayload, 'x')};
  constexpr std::uintmax_t kShort = 1'100'000;
  const auto reaches = [&](const auto& wanted) {
    for (int i = 0; i < 40; ++i) {
      store.schedule({&timer, 1});
      if (wanted(std::filesystem::file_size(file))) return true;
    }
    return false;
  };
  std::filesystem::create_directory(obstacle);
  EXPECT_TRUE(reaches([](auto bytes) { return bytes > kShort; }));
  std::filesystem::remove(obstacle);
  EXPECT_TRUE(reaches([](auto bytes) { return bytes > 2 * kShort - 200'000; }));
  EXPECT_TRUE(reaches([](auto bytes) { return bytes < kShort; }));
  for (int i = 0; i < 40; ++i) {
    store.schedule({&timer, 1});
    EXPECT_LT(std::filesystem::file_size(file), kShort);
  }
}

TYPED_TEST(JournalStoreTest, HandsOutOnceWhatStoodInLineWhenItGrew) {
  auto store = this->open();
  store.schedule(std::vector<DurableTimer>{{1, 0}, {2, 0}});
  EXPECT_EQ(store.claim(1, kLastDeadline, this->at(1'000'000)).timers.size(), 1U);
  std::vector<DurableTimer> many;
  for (DurableId id = 3; id < 5000; ++id) many.push_back({id, kLastDeadline});
  store.schedule(many);
  EXPECT_EQ(store.claim(9, kLastDeadline, this->at(2'000'000)).timers.size(), 1U);
}

TYPED_TEST(JournalStoreTest, WakesWhoWaitsWhenATimerIsGivenBack) {
  auto store = this->open();
  const DurableTimer timer{1, 0, ""};
  store.schedule({&timer, 1});
  const Claims claims = store.claim(1, kLastDeadline, this->at(1'000'000));
  const Tick next_wakeup = store.claim(1, 1, this->at(1'000'000)).next_wakeup;
  const auto begin = std::chrono::steady_clock::now();
  auto woken =
      std::async(std::launch::async, [&] { return store.await_earlier(next_wakeup, 10s); });
  std::this_thread::sleep_for(50ms);  // until it waits
  store.give_back(claims.timers);
  EXPECT_TRUE(woken.get());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TYPED_TEST(JournalStoreTest, ThreadsLoseNothing) {
  auto store = this->open();
  const TimeLimit limit;
  constexpr DurableId kEach = 200;
  std::atomic<std::size_t> completed = 0;
  {
    std::vector<std::jthread> threads;
    for (DurableId thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&, thread] {
        for (DurableId id = 0; id < kEach; ++id) {
          const DurableTimer timer{thread * kEach + id, id, "x"};
          store.schedule({&timer, 1});
        }
      });
      threads.emplace_back([&] {
        while (completed < 3 * kEach && !limit.is_over()) {
          const Claims claims = store.claim(7, kLastDeadline, this->at(1'000'000'000));
          const std::vector<bool> held = store.complete(claims.timers);
          completed += static_cast<std::size_t>(std::ranges::count(held, true));
        }
      });
    }
  }
  EXPECT_EQ(completed, 3 * kEach);
  EXPECT_EQ(store.size(), 0U);
}

// A queue in memory takes no step back.
TEST(JournalQueueTest, GoesByItsClockWhenThatIsSetBack) {
  constexpr Tick kMinute = Tick{60} * 1'000'000'000, kStart = Tick{30'000'000} * kMinute;
  const Scratch scratch;
  Tick now = kStart;
  const auto engine = journal("journal", 0ms).start(scratch.path());
  const auto queue = engine->open({.queue = "orders", .now = [&] { return now; }});
  const auto claim = [&](std::size_t most) {
    std::set<DurableId> ids;
    for (const ClaimedTimer& claim : queue->claim(most, kMinute).timers) {
      ids.insert(claim.timer.id);
      EXPECT_EQ(queue->complete({&claim, 1}), std::vector{true});
    }
    return ids;
  };
  const auto schedule = [&](const std::vector<DurableTimer>& timers) { queue->schedule(timers); };
  schedule({{1, kStart - 9 * kMinute}, {2, kStart - 8 * kMinute}, {3, kStart}, {4, kStart}});
  EXPECT_THAT(claim(1), ElementsAre(1));
  now = kStart - 5 * kMinute;
  EXPECT_THAT(claim(9), ElementsAre(2));  // 3 and 4 were due
  schedule({{5, kStart - 4 * kMinute}});
  now = kStart - 4 * kMinute;
  EXPECT_THAT(claim(9), ElementsAre(5));
  now = kStart - 60 * kMinute;
  schedule({{6, now}});
  EXPECT_THAT(claim(9), ElementsAre(6));
  now = kStart;
  queue->give_back(queue->claim(9, kMinute).timers);
  now = kStart - 1;
  EXPECT_THAT(claim(9), IsEmpty());
  now = kStart;
  EXPECT_THAT(claim(9), ElementsAre(3, 4));
  EXPECT_EQ(queue->size(), 0U);
  now = kStart - 1;
  EXPECT_EQ(queue->claim(9, kMinute).next_wakeup, kNever);
}

TEST(JournalEngineTest, TellsOnceThatAFileIsDamaged) {
  const Scratch scratch;
  const std::unique_ptr<DurableEngine> engine = journal("journal", 0ms).start(scratch.path());
  const DurableTimer timer{1, kLastDeadline, "payload"};
  engine->open({.queue = "orders"})->schedule({&timer, 1});
  std::string bad = scratch.read("orders.journal");
  bad.back() = 'x';
  scratch.write("orders.journal", bad);
  testing::internal::CaptureStderr();
  const auto first = engine->open({.queue = "orders"}), second = engine->open({.queue = "orders"});
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, StartsWith("timerbench: warning: " + scratch.path("orders.journal").string() +
                               " is damaged at byte 21: "));
  EXPECT_EQ(std::ranges::count(told, '\n'), 1);
}

}  // namespace
}  // namespace timerbench
