// The durable queue in PostgreSQL: servers of the user's, that are missing, and that are killed.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "durable/engine.h"
#include "durable/postgres_connection.h"
#include "durable/postgres_queue.h"
#include "durable/postgres_server.h"
#include "redis_testing.h"

namespace timerbench {
namespace {

using std::chrono_literals::operator""ms;

constexpr Tick kLease = 60'000'000'000;

const DurableContender& contender_named(std::string_view name) {
  for (const DurableContender& contender : durable_roster()) {
    if (contender.traits.name == name) return contender;
  }
  throw std::logic_error(std::string(name));
}

std::size_t tables(PostgresConnection& connection) {
  connection.prepare("tables", "SELECT count(*) FROM pg_tables WHERE schemaname = 'timerbench'");
  const std::size_t count = connection.run("tables", PostgresConnection::Parameters()).bigint(0, 0);
  connection.run("DEALLOCATE tables");
  return count;
}

class PostgresTest : public ::testing::Test {
 protected:
  static PrivatePostgresServer& server() {
    static PrivatePostgresServer server;
    return server;
  }
};

TEST_F(PostgresTest, UsesAServerOfTheUsersAndLeavesTheRestAlone) {
  PostgresConnection own(server().where(), 5000ms);
  own.run("CREATE TABLE public.mine (id int); INSERT INTO public.mine VALUES (1)");
  {
    const PostgresQueue other(server().where(), {.queue = "other"}, true);
    const ScopedVariable url(kPostgresUrlVariable, server().where());
    const auto engine = contender_named("postgres_on").start("");
    EXPECT_FALSE(engine->is_restartable());
    EXPECT_TRUE(engine->processes().empty());
    const auto queue = engine->open({.queue = "other"});  // another queue than that of this name
    const DurableTimer timer{1, 0, "payload"};
    queue->schedule({&timer, 1});
    EXPECT_EQ(queue->claim(10, kLease).timers.size(), 1U);
    EXPECT_EQ(tables(own), 2U);
  }
  EXPECT_EQ(tables(own), 1U);
  own.run("DROP TABLE public.mine");
}

TEST_F(PostgresTest, SaysInOneLineThatAServerCannotBeReached) {
  const std::string missing = error_of<BackendUnavailable>(
      [] { PostgresConnection("host=/no/such/folder user=me password=secret", 2000ms); });
  expect_contains(missing, {"/no/such/folder", "start it, or check its address"});
  EXPECT_EQ(missing.find("secret"), std::string::npos) << missing;
  const std::string wrong =
      error_of<BackendUnavailable>([] { PostgresConnection("port=abc", 2000ms); });
  expect_contains(wrong, {"\"abc\""});
}

TEST_F(PostgresTest, ConnectsAgainAfterTheServerWasKilled) {
  PostgresQueue queue(server().where(), {.queue = "killed"}, true);
  const DurableTimer timer{1, 0, "payload"};
  queue.schedule({&timer, 1});
  server().restart();
  EXPECT_NE(error_of([&] { queue.size(); }), "");
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue.claim(10, kLease).timers.size(), 1U);
}

TEST_F(PostgresTest, DoesAllOfABatchOrNothing) {
  PostgresQueue queue(server().where(), {.queue = "batch"}, true);
  std::vector<DurableTimer> timers(3 * PostgresConnection::kDepth);
  for (DurableId id = 0; id < timers.size(); ++id) timers[id].id = id;
  PostgresConnection(server().where(), 5000ms)
      .run("ALTER TABLE timerbench.timers_of_batch ADD CHECK (id <> 700)");
  expect_contains(error_of([&] { queue.schedule(timers); }), {"nothing was changed"});
  EXPECT_EQ(queue.size(), 0U);
  timers.resize(700);
  queue.schedule(timers);
  EXPECT_EQ(queue.size(), 700U);
}

}  // namespace
}  // namespace timerbench
