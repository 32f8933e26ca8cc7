// The SQLite queue: its log while several clients write.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
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

}  // namespace
}  // namespace timerbench
