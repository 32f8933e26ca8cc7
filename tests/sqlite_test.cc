// The SQLite queue: its log while several clients write, and while one reads.
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
  constexpr auto kPatience = 500ms;
  SqliteQueue queue(file, {.queue = "load", .patience = kPatience},
                    SqliteQueue::Synchronous::normal);
  sqlite3* reader = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &reader), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM timers_of_load", nullptr, nullptr, nullptr),
      SQLITE_OK);
  SqliteQueue other(file, {.queue = "load", .patience = kPatience},
                    SqliteQueue::Synchronous::normal);
  const auto log_bytes = [&] { return std::filesystem::file_size(file.string() + "-wal"); };
  constexpr std::uintmax_t kFull = std::uintmax_t{SqliteQueue::kPagesOfLog} * 4096;
  std::jthread beside([&](const std::stop_token& ended) {
    for (DurableId id = 1; !ended.stop_requested(); id += 2) {
      const DurableTimer timer{id, kNever - 1, ""};
      EXPECT_NO_THROW(other.schedule({&timer, 1}));
    }
  });
  const std::string payload(3000, 'x');
  int slow_calls = 0;
  for (DurableId id = 0; log_bytes() < 3 * kFull; id += 2) {
    const DurableTimer timer{id, kNever - 1, payload};
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_NO_THROW(queue.schedule({&timer, 1}));
    slow_calls += std::chrono::steady_clock::now() - begin >= kPatience / 2;
  }
  EXPECT_LE(slow_calls, 3) << "of a busy machine";
  sqlite3_close(reader);
}

}  // namespace
}  // namespace timerbench
