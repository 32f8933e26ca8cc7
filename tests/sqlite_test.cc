// The SQLite queue: its log while several clients write, and while one reads; files of others; and
// transactions that fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "durable/sqlite_queue.h"
#include "scratch.h"

namespace timerbench {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A connection of somebody else.
class Database {
 public:
  explicit Database(const std::filesystem::path& file) {
    EXPECT_EQ(sqlite3_open(file.c_str(), &database_), SQLITE_OK);
  }
  ~Database() { sqlite3_close(database_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* text) {
    EXPECT_EQ(sqlite3_exec(database_, text, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_);
  }

 private:
  sqlite3* database_ = nullptr;
};

std::string error_of_opening(const std::filesystem::path& file) {
  try {
    const SqliteQueue queue(file, {.queue = "load"}, SqliteQueue::Synchronous::full);
  } catch (const BackendUnavailable& error) {
    return error.what();
  }
  return "";
}

// Without care it is never begun anew, as no client finds that all of it was copied.
TEST(SqliteTest, TheLogStaysShortWhileSeveralClientsWrite) {
  const Scratch folder;
  const std::filesystem::path file = folder.path("timers.sqlite");
  for (const auto synchronous :
       {SqliteQueue::Synchronous::normal, SqliteQueue::Synchronous::full}) {
    SqliteQueue queue(file, {.queue = "load"}, synchronous);  // who closes it last removes the log
    const auto end = std::chrono::steady_clock::now() + 1s;
    std::vector<std::jthread> clients;
    for (DurableId client = 0; client < 4; ++client) {
      clients.emplace_back([&, client] {
        SqliteQueue own(file, {.queue = "load"}, synchronous);
        while (std::chrono::steady_clock::now() < end) {
          const DurableTimer timer{client, kNever - 1, "payload"};
          own.schedule({&timer, 1});
          EXPECT_TRUE(own.cancel(client));
        }
      });
    }
    clients.clear();
    EXPECT_EQ(queue.size(), 0U);
    constexpr std::uintmax_t kPage = 4096;
    EXPECT_LT(std::filesystem::file_size(file.string() + "-wal"),
              2 * SqliteQueue::kPagesOfLog * kPage);
  }
}

// A backup, for instance. The log can only grow then.
TEST(SqliteTest, AReaderThatStaysDoesNotStopTheWriters) {
  const Scratch folder;
  const std::filesystem::path file = folder.path("timers.sqlite");
  constexpr auto kPatience = 4s;
  SqliteQueue queue(file, {.queue = "load", .patience = kPatience},
                    SqliteQueue::Synchronous::normal);
  Database reader(file);
  reader.run("BEGIN; SELECT count(*) FROM timers_of_load");
  SqliteQueue writer(file, {.queue = "load", .patience = kPatience},
                     SqliteQueue::Synchronous::normal);
  const auto log_bytes = [&] { return std::filesystem::file_size(file.string() + "-wal"); };
  constexpr std::uintmax_t kFull = std::uintmax_t{SqliteQueue::kPagesOfLog} * 4096;
  std::jthread beside([&](const std::stop_token& ended) {
    for (DurableId id = 1; !ended.stop_requested(); id += 2) {
      const DurableTimer timer{id, kNever - 1, ""};
      EXPECT_NO_THROW(writer.schedule({&timer, 1}));
    }
  });
  const std::string payload(3000, 'x');
  int slow_calls = 0;
  for (DurableId id = 0; log_bytes() < 3 * kFull && slow_calls <= 3; id += 2) {
    const DurableTimer timer{id, kNever - 1, payload};
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_NO_THROW(queue.schedule({&timer, 1}));
    slow_calls += std::chrono::steady_clock::now() - begin >= kPatience / 2;
  }
  EXPECT_LE(slow_calls, 3) << "of a busy machine";
}

TEST(SqliteTest, RefusesAFileOfOthersAndLeavesItAlone) {
  const Scratch folder;
  {
    Database other(folder.path("theirs"));
    other.run("CREATE TABLE orders (id INTEGER); INSERT INTO orders VALUES (1)");
  }
  folder.write("text", "no database at all");
  {
    // Its table is in the log only, as after a crash.
    Database other(folder.path("open"));
    other.run("PRAGMA journal_mode = WAL; CREATE TABLE orders (id INTEGER)");
    folder.write("logged", folder.read("open"));
    folder.write("logged-wal", folder.read("open-wal"));
  }
  const std::string theirs = folder.read("theirs"), logged = folder.read("logged"),
                    log = folder.read("logged-wal");
  EXPECT_THAT(
      error_of_opening(folder.path("theirs")),
      HasSubstr("theirs: it is a database of others, with the table orders; take another file"));
  EXPECT_THAT(error_of_opening(folder.path("logged")), HasSubstr("a database of others"));
  EXPECT_THAT(error_of_opening(folder.path("text")), HasSubstr("is not a database"));
  // Not EXPECT_EQ, which would print the pages.
  EXPECT_TRUE(folder.read("theirs") == theirs);
  EXPECT_TRUE(folder.read("logged") == logged);
  EXPECT_TRUE(folder.read("logged-wal") == log);
  EXPECT_EQ(folder.read("text"), "no database at all");
}

// Several queues may be in it, and what others add later, as a program for backups does.
TEST(SqliteTest, TakesAFileOfQueues) {
  const Scratch folder;
  const std::filesystem::path file = folder.path("timers.sqlite");
  for (const std::string queue : {"load", "other", "load"}) {
    SqliteQueue(file, {.queue = queue}, SqliteQueue::Synchronous::full).schedule({});
    EXPECT_THAT(folder.names(), ElementsAre("timers.sqlite")) << "its log was not copied";
    Database(file).run("ANALYZE; CREATE TABLE IF NOT EXISTS backups (id INTEGER)");
  }
}

TEST(SqliteTest, DoesNothingOfACallThatFails) {
  const Scratch folder;
  const std::filesystem::path file = folder.path("timers.sqlite");
  SqliteQueue queue(file, {.queue = "load"}, SqliteQueue::Synchronous::normal);
  Database other(file);
  other.run(
      "CREATE TRIGGER refusing BEFORE INSERT ON timers_of_load WHEN new.id = 2 "
      "BEGIN SELECT RAISE(ABORT, 'refused'); END");
  const std::vector<DurableTimer> timers{{1, kLastDeadline}, {2, kLastDeadline}};
  EXPECT_THROW(queue.schedule(timers), BackendError);
  EXPECT_EQ(queue.size(), 0U);
  other.run("DROP TRIGGER refusing");
  queue.schedule(timers);
  EXPECT_EQ(queue.size(), 2U);
}

}  // namespace
}  // namespace timerbench
