// The durable queue in PostgreSQL: servers of the user's, that are missing, and that are killed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "durable/engine.h"
#include "durable/postgres_connection.h"
#include "durable/postgres_queue.h"
#include "durable/postgres_server.h"
#include "fake_server.h"
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

// A field of /proc/PID/status; empty if there is no such process.
std::string status_of(pid_t process, std::string_view field) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string word; status >> word;) {
    if (word == fmt::format("{}:", field) && status >> word) return word;
  }
  return "";
}

// Nothing may be left of it but a zombie: not every container reaps the orphans in it.
bool ended(pid_t process) {
  const std::string state = status_of(process, "State");
  return state.empty() || state == "Z";
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

// Nor does the server wait on when the engine has gone: that would stop all other readers.
TEST_F(PostgresTest, TellsWhatItLeavesThereIfSomebodyUsesIt) {
  PostgresConnection own(server().where(), 5000ms);
  const std::size_t before = tables(own);
  std::string told;
  {
    const ScopedVariable url(kPostgresUrlVariable, server().where());
    auto engine = contender_named("postgres_on").start("");
    engine->open({});
    own.run("BEGIN");
    own.run(R"(DO $$ BEGIN
      EXECUTE (SELECT format('LOCK TABLE timerbench.%I IN ACCESS SHARE MODE', tablename)
        FROM pg_tables WHERE tablename LIKE 'timers_of_r%');
    END $$)");
    testing::internal::CaptureStderr();
    engine.reset();
    told = testing::internal::GetCapturedStderr();
  }
  expect_contains(told, {"timerbench: cannot clean up: postgresql at ", "lock timeout",
                         "end the transaction", "tables timerbench.timers_of_r", "\\gexec"});
  EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
  own.prepare("waiting", "SELECT count(*) FROM pg_locks WHERE NOT granted");
  EXPECT_EQ(own.run("waiting", PostgresConnection::Parameters()).bigint(0, 0), 0U);
  EXPECT_EQ(tables(own), before + 1);
  own.run("ROLLBACK");
  PostgresQueue::drop_tables(server().where(), "r", 5000ms);
  EXPECT_EQ(tables(own), before);
}

TEST_F(PostgresTest, IsNotWokenAgainByWhatItHasClaimed) {
  const DurableConfig config{.queue = "woken"};
  PostgresQueue first(server().where(), config, true), second(server().where(), config, true);
  EXPECT_TRUE(first.await_earlier(kNever, 0ms));  // it only begins to listen
  const DurableTimer timer{1, 0, "payload"};
  second.schedule({&timer, 1});
  EXPECT_TRUE(first.await_earlier(kNever, 1000ms));
  EXPECT_EQ(first.claim(10, kLease).timers.size(), 1U);
  EXPECT_FALSE(first.await_earlier(kNever, 10ms));
  PostgresQueue::drop_tables(server().where(), "woken", 5000ms);
}

TEST_F(PostgresTest, OpensWhileATransactionThatHasWrittenIsOpen) {
  const DurableConfig config{.queue = "shared", .patience = 2000ms};
  PostgresQueue queue(server().where(), config, true);
  PostgresConnection own(server().where(), 5000ms);
  own.run("BEGIN");
  own.run("INSERT INTO timerbench.timers_of_shared VALUES (999, 1, 1, 1, '')");
  EXPECT_NO_THROW(PostgresQueue(server().where(), config, true));
  const DurableTimer timer{1, 0, "payload"};
  EXPECT_NO_THROW(queue.schedule({&timer, 1}));
  own.run("ROLLBACK");
  EXPECT_EQ(queue.size(), 1U);
  PostgresQueue::drop_tables(server().where(), "shared", 5000ms);
}

TEST_F(PostgresTest, LeavesNoSchemaThatIsEmpty) {
  PostgresConnection own(server().where(), 5000ms);
  own.run("DROP SCHEMA IF EXISTS timerbench CASCADE");
  const auto use_and_drop = [&] {
    const PostgresQueue queue(server().where(), {.queue = "gone_1"}, true);
    PostgresQueue::drop_tables(server().where(), "gone_", 5000ms);
  };
  const auto schemas = [&] {
    own.prepare("schemas", "SELECT count(*) FROM pg_namespace WHERE nspname = 'timerbench'");
    const auto count = own.run("schemas", PostgresConnection::Parameters()).bigint(0, 0);
    own.run("DEALLOCATE schemas");
    return count;
  };
  use_and_drop();
  EXPECT_EQ(schemas(), 0U);
  PostgresQueue::drop_tables(server().where(), "gone_", 5000ms);
  own.run(
      "CREATE SCHEMA timerbench; CREATE FUNCTION timerbench.f() RETURNS int LANGUAGE sql "
      "AS 'SELECT 1'");
  use_and_drop();
  EXPECT_EQ(schemas(), 1U);
  EXPECT_EQ(tables(own), 0U);
  own.run("DROP SCHEMA timerbench CASCADE");
}

// Of the protocol: AuthenticationOk, a ParameterStatus, ReadyForQuery.
TEST_F(PostgresTest, SaysWhatAServerThatIsTooOldLacks) {
  using std::string_literals::operator""s;
  const FakeServer old(
      {"R\0\0\0\x08\0\0\0\0S\0\0\0\x1aserver_version\0"s + "9.4.26\0"s + "Z\0\0\0\x05I"s},
      FakeServer::kSilence, ".s.PGSQL.5432");
  const std::string error = error_of<BackendUnavailable>([&] {
    PostgresQueue queue(fmt::format("host={} user=me dbname=db", old.folder()),
                        {.patience = 2000ms}, true);
  });
  expect_contains(error, {old.folder(), "9.4 has neither", "take 9.5 or newer"});
}

TEST_F(PostgresTest, LosesItsPatienceWithAServerThatIsSilent) {
  const FakeServer silent({}, FakeServer::kSilence, ".s.PGSQL.5432");
  const auto start = std::chrono::steady_clock::now();
  expect_contains(error_of<BackendUnavailable>([&] {
                    PostgresConnection(fmt::format("host={} user=me", silent.folder()), 200ms);
                  }),
                  {silent.folder(), "no answer within 200 ms"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1500ms);
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

// SCRAM-SHA-256, the way in which PostgreSQL asks for passwords by default.
TEST_F(PostgresTest, IsLetInByItsPasswordAndRepeatsNoWrongOne) {
  PrivatePostgresServer guarded;
  {
    PostgresConnection own(guarded.where(), 5000ms);
    own.run("SET password_encryption = 'scram-sha-256'");
    own.run("CREATE ROLE guest LOGIN PASSWORD 'open sesame'");
    std::ofstream(guarded.folder() / "data" / "pg_hba.conf")
        << "local all timerbench trust\nlocal all all scram-sha-256\n";
  }
  guarded.restart();
  const auto where = [&](std::string_view password) {
    return fmt::format("host={} dbname=postgres user=guest password='{}'",
                       guarded.socket().parent_path().string(), password);
  };
  EXPECT_NO_THROW(PostgresConnection(where("open sesame"), 5000ms));
  const std::string error =
      error_of<BackendUnavailable>([&] { PostgresConnection(where("open barley"), 5000ms); });
  expect_contains(error, {"password authentication failed for user \"guest\"",
                          "check its address, user and password"});
  EXPECT_EQ(error.find("barley"), std::string::npos) << error;
  EXPECT_EQ(std::ranges::count(error, '\n'), 0) << error;
}

TEST_F(PostgresTest, DoesNotRepeatAnAddressThatItCannotRead) {
  for (const char* const where :
       {"postgresql://me:secret@[::1/db", "postgresql://me:secret@[::1]x/db", "me:secret@host/db",
        "postgresql://me:secret%zz@host/db", "user=me password=my secret host=x",
        "postgresql://me:secret/or@127.0.0.1/db", "postgresql://me:x@secret@127.0.0.1/db",
        "postgresql://me:12/secret@127.0.0.1/db", "postgresql://127.0.0.1:/secret@127.0.0.1/db"}) {
    const std::string error =
        error_of<BackendUnavailable>([&] { PostgresConnection(where, 2000ms); });
    expect_contains(error, {"its address cannot be read"});
    EXPECT_EQ(error.find("secret"), std::string::npos) << error;
  }
}

// The statistics tell the planner how many timers there are: here, that there is one.
TEST_F(PostgresTest, ClaimsNoMoreThanAskedForWhateverTheStatisticsSay) {
  PostgresQueue queue(server().where(), {.queue = "statistics"}, true);
  std::vector<DurableTimer> timers{{.id = 0, .deadline = 0}};
  queue.schedule(timers);
  PostgresConnection(server().where(), 5000ms).run("ANALYZE timerbench.timers_of_statistics");
  timers.clear();
  for (DurableId id = 1; id < 20; ++id) timers.push_back({id, 0});
  queue.schedule(timers);
  EXPECT_EQ(queue.claim(3, kLease).timers.size(), 3U);
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

// --- The end of a private server ---

TEST(PrivatePostgres, IsGoneWithItsFolderWheneverTheProgramIsKilled) {
  const EmptyFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
  for (const int ms : {10, 100, 300, 600, 900, 1200, 2000}) {  // initdb takes about a second
    const pid_t program = fork();
    if (program == 0) {
      setenv("TMPDIR", folder.path().c_str(), 1);
      try {
        const PrivatePostgresServer server;
        pause();
      } catch (const BackendUnavailable& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      _exit(EXIT_FAILURE);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    kill(program, SIGKILL);
    waitpid(program, nullptr, 0);
    EXPECT_TRUE(soon([&] { return folder.empty(); })) << "killed after " << ms << " ms";
  }
  // Nothing writes into it any more.
  std::this_thread::sleep_for(100ms);
  EXPECT_TRUE(folder.empty());
}

// Shared memory of System V outlives processes and folders.
TEST(PrivatePostgres, LeavesNoSharedMemory) {
  const auto segments_of = [](pid_t creator) {  // other tests start servers, too
    std::ifstream in("/proc/sysvipc/shm");
    int segments = 0;
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string key, shmid, perms, size, cpid;
      words >> key >> shmid >> perms >> size >> cpid;
      segments += cpid == std::to_string(creator) ? 1 : 0;
    }
    return segments;
  };
  pid_t process = 0;
  {
    PrivatePostgresServer server;
    process = server.process();
    EXPECT_GT(segments_of(process), 0);
  }
  EXPECT_EQ(segments_of(process), 0);
}

TEST(PrivatePostgres, DiesWithItsKeeper) {
  PrivatePostgresServer server;
  const pid_t process = server.process();
  ASSERT_FALSE(ended(process));
  kill(std::stoi(status_of(process, "PPid")), SIGKILL);
  EXPECT_TRUE(soon([&] { return ended(process); }));
}

}  // namespace
}  // namespace timerbench
