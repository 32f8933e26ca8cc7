// The beanstalkd queue: its URL, its server and the end of it, tubes of others, and what becomes of
// delays and of the numbers of jobs when the server is killed. Every server in here is started by
// the test.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/backend_error.h"
#include "durable/beanstalk_connection.h"
#include "durable/beanstalk_queue.h"
#include "durable/beanstalk_server.h"
#include "durable/engine.h"
#include "engines/private_server.h"
#include "fake_server.h"
#include "redis_testing.h"
#include "scratch.h"

namespace timerbench {
namespace {

using namespace std::chrono_literals;

[[maybe_unused]] const int kNoUrl = unsetenv(kBeanstalkUrlVariable);

constexpr Tick kSecond = BeanstalkQueue::kResolution;

BeanstalkQueue open(PrivateBeanstalkServer& server, const DurableConfig& config = {}) {
  return {server.endpoint(), "timerbench.durable." + config.queue, config};
}

void arm(DurableQueue& queue, DurableId id, Tick deadline, std::string payload = "") {
  const DurableTimer timer{id, deadline, std::move(payload)};
  queue.schedule({&timer, 1});
}

// Claims until something is handed out.
std::vector<ClaimedTimer> await(DurableQueue& queue) {
  std::vector<ClaimedTimer> claims;
  const auto give_up = std::chrono::steady_clock::now() + 20s;
  while (claims.empty() && std::chrono::steady_clock::now() < give_up) {
    claims = queue.claim(10, kSecond).timers;
    std::this_thread::sleep_for(1ms);
  }
  return claims;
}

// A command and the first word of its answer.
std::string say(const BeanstalkEndpoint& endpoint, const std::vector<std::string>& commands) {
  BeanstalkConnection connection(endpoint, 5000ms);
  std::string words;
  connection.run(commands, [&](std::size_t, const BeanstalkConnection::Answer& answer) {
    words += fmt::format("{} ", answer.word);
    return true;
  });
  return words;
}

std::string stats_of(const BeanstalkEndpoint& endpoint) {
  const std::string command = "stats";
  std::string stats;
  BeanstalkConnection(endpoint, 5000ms)
      .run({&command, 1}, [&](std::size_t, const BeanstalkConnection::Answer& answer) {
        stats = answer.body;
        return true;
      });
  return stats;
}

// --- URLs ---

TEST(BeanstalkUrl, IsHostAndPort) {
  EXPECT_EQ(BeanstalkEndpoint::parse("127.0.0.1:11300").text(), "127.0.0.1:11300");
  EXPECT_EQ(BeanstalkEndpoint::parse("a-b.example:1").text(), "a-b.example:1");
  EXPECT_EQ(BeanstalkEndpoint::parse("[::1]:65535").text(), "[::1]:65535");
}

TEST(BeanstalkUrl, ThatIsNoneIsRefused) {
  for (const std::string url :
       {"x", ":1", "h:", "h:0", "h:65536", "h:1x", "h:-1", "h:11300/", "::1:1", "beanstalk://h:1",
        "h\n:1", "h;ls:1", "u@h:1", "[]:1", "[::1]"}) {
    expect_contains(error_of([&] { BeanstalkEndpoint::parse(url); }),
                    {kBeanstalkUrlVariable, "host:port"});
  }
}

// --- Servers that are missing, wrong, silent or killed ---

TEST(BeanstalkServer, ThatIsNotInstalledIsTold) {
  const EmptyFolder folder;
  const ScopedVariable path("PATH", folder.path());
  const std::string error = error_of<BackendUnavailable>([] { PrivateBeanstalkServer server(0); });
  expect_contains(error, {"cannot start a private beanstalkd", "apt-get install beanstalkd"});
}

TEST(BeanstalkServer, ThatListensAndDoesNotAnswerIsTold) {
  const EmptyFolder folder;
  const std::string program = folder.path() + "/beanstalkd";
  std::ofstream(program) << R"(#!/bin/sh
exec /usr/bin/perl -MSocket -e 'my $path = substr($ARGV[1], length("unix:"));
  socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un($path)); listen(S, 8); sleep 100' -- "$@"
)";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const ScopedVariable path("PATH", folder.path());
  const std::string error =
      error_of<BackendUnavailable>([] { PrivateBeanstalkServer server(0, 500ms); });
  expect_contains(error, {"beanstalkd", "did not answer within 500 ms"});
}

TEST(BeanstalkServer, ThatIsNotThereIsTold) {
  const std::string error = error_of<BackendUnavailable>(
      [] { BeanstalkQueue queue(BeanstalkEndpoint::parse("127.0.0.1:1"), "t", {}); });
  expect_contains(error, {"127.0.0.1:1", "Connection refused", kBeanstalkUrlVariable});
}

// A server that says this once, or that does not even accept, on a port of its own.
class Listener {
 public:
  explicit Listener(const std::string& greeting = "") {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener_, 8) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      ADD_FAILURE() << "no port to listen on";
    }
    port_ = ntohs(address.sin_port);
    if (greeting.empty()) return;
    thread_ = std::jthread([this, greeting] {
      const int client = accept(listener_, nullptr, nullptr);
      EXPECT_EQ(write(client, greeting.data(), greeting.size()),
                static_cast<ssize_t>(greeting.size()));
      char byte;
      while (read(client, &byte, 1) > 0) {
      }
      close(client);
    });
  }
  ~Listener() {
    if (thread_.joinable()) thread_.join();
    close(listener_);
  }

  BeanstalkEndpoint endpoint() const {
    return BeanstalkEndpoint::parse(fmt::format("127.0.0.1:{}", port_));
  }

 private:
  int listener_;
  int port_ = 0;
  std::jthread thread_;
};

std::string error_of_opening(const Listener& listener, std::chrono::milliseconds patience = 5s) {
  return error_of<BackendUnavailable>(
      [&] { BeanstalkQueue queue(listener.endpoint(), "t", {.patience = patience}); });
}

TEST(BeanstalkServer, ThatIsNotThereTakesNoFiles) {
  const auto open_files = [] {
    return std::ranges::distance(std::filesystem::directory_iterator("/proc/self/fd"));
  };
  const auto before = open_files();
  for (const BeanstalkEndpoint& nobody : {BeanstalkEndpoint::parse("127.0.0.1:1"),
                                          BeanstalkEndpoint{.path = "/nowhere", .host = ""}}) {
    EXPECT_THROW(BeanstalkConnection(nobody, 100ms), BackendUnavailable);
  }
  EXPECT_EQ(open_files(), before);
}

TEST(BeanstalkServer, ThatIsOfAnotherKindIsTold) {
  for (const std::string greeting :
       {"-ERR unknown command\r\n", "HTTP/1.1 400 Bad Request\r\n", "\x1b[2J\r\n"}) {
    const Listener other(greeting);
    const std::string error = error_of_opening(other);
    expect_contains(error, {"another protocol", "check that it is a beanstalkd server"});
  }
  const Listener endless(std::string(2000, 'A'));
  expect_contains(error_of_opening(endless), {"an answer without an end"});
  const Listener huge("OK 99999999999\r\n");
  expect_contains(error_of_opening(huge), {"check that it is a beanstalkd server"});
  const Listener refusing("USING t\r\nNOT_FOUND\r\nWATCHING 1\r\nINTERNAL_ERROR\r\n");
  expect_contains(error_of_opening(refusing), {"it answers NOT_FOUND"});
}

TEST(BeanstalkServer, ThatIsSilentIsNotWaitedForLonger) {
  const Listener silent;
  const auto before = std::chrono::steady_clock::now();
  expect_contains(error_of_opening(silent, 200ms), {"no answer within 200 ms"});
  EXPECT_LT(std::chrono::steady_clock::now() - before, 5s);
}

// Each letter comes within the patience, and the answer does not.
TEST(BeanstalkServer, ThatDripsIsNotWaitedForLonger) {
  const FakeServer dripping({"OK 100000\r\n"}, FakeServer::kDrip);
  BeanstalkConnection connection({.path = dripping.endpoint().path, .host = {}}, 100ms);
  const std::string stats = "stats";
  expect_contains(error_of([&] {
                    connection.run({&stats, 1}, [](auto, const auto&) { return true; });
                  }),
                  {dripping.endpoint().path, "no answer within 100 ms"});
}

TEST(BeanstalkServer, ThatKeepsNothingIsRefused) {
  PrivateServer server({.name = "beanstalkd",
                        .advice = "install it",
                        .arguments =
                            [](const std::filesystem::path& folder) {
                              return std::vector<std::string>{
                                  "beanstalkd", "-l", "unix:" + (folder / "socket").string()};
                            },
                        .probe =
                            [](const std::filesystem::path& folder) {
                              BeanstalkConnection({.path = folder / "socket", .host = {}}, 5000ms);
                            },
                        .patience = 5000ms});
  const BeanstalkEndpoint endpoint{.path = server.folder() / "socket", .host = {}};
  ASSERT_TRUE(soon([&] { return std::filesystem::exists(endpoint.path); }));
  expect_contains(error_of<BackendUnavailable>([&] { BeanstalkQueue queue(endpoint, "t", {}); }),
                  {"no binlog", "start it with -b"});
}

TEST(BeanstalkServer, ThatIsKilledFailsEachCallUntilItIsBack) {
  PrivateBeanstalkServer server(0);
  BeanstalkQueue queue = open(server);
  arm(queue, 1, 0, "x");
  const auto held = await(queue);
  ASSERT_EQ(held.size(), 1U);
  server.kill();
  const std::function<void()> calls[] = {
      [&] { arm(queue, 2, 0); },        [&] { queue.cancel(1); },
      [&] { queue.claim(1, kSecond); }, [&] { queue.complete(held); },
      [&] { queue.give_back(held); },   [&] { queue.size(); }};
  for (const auto& call : calls) {
    expect_contains(error_of(call), {"beanstalkd at ", "; start it"});
  }
  server.restart();
  EXPECT_EQ(queue.size(), 1U);
  // What it held before is due, and is not its own any more.
  EXPECT_EQ(queue.complete(held), std::vector<bool>{false});
  const auto again = await(queue);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].timer, held[0].timer);
  EXPECT_EQ(queue.complete(again), std::vector<bool>{true});
  EXPECT_EQ(queue.size(), 0U);
}

// --- After a restart ---

TEST(BeanstalkQueue, DelaysGoOnWhereTheyWereAfterRestarts) {
  PrivateBeanstalkServer server(0);
  BeanstalkQueue queue = open(server);
  const Tick deadline = unix_now() + 4 * kSecond;
  arm(queue, 1, deadline, "x");
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(700ms);
    server.kill();
    server.restart();
  }
  const auto claims = await(queue);
  const Tick now = unix_now();
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].timer, (DurableTimer{1, deadline, "x"}));
  EXPECT_GE(now, deadline);
  EXPECT_LT(now, deadline + 3 * kSecond);  // it was rounded up by one at most
}

TEST(BeanstalkQueue, MovesAndCancelsWhatItArmedBeforeARestart) {
  PrivateBeanstalkServer server(0);
  BeanstalkQueue queue = open(server);
  const Tick later = unix_now() + 1000 * kSecond;
  for (const DurableId id : {1, 2, 3}) arm(queue, id, later, "old");
  server.kill();
  server.restart();
  arm(queue, 1, 0, "new");
  EXPECT_TRUE(queue.cancel(2));
  EXPECT_EQ(queue.size(), 2U);
  const auto claims = await(queue);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].timer, (DurableTimer{1, 0, "new"}));
}

// beanstalkd refuses the second timer after it has taken the first.
TEST(BeanstalkQueue, DeletesTheOldJobAlsoWhenMovingFailsHalfWay) {
  for (const bool is_restarted : {false, true}) {
    PrivateBeanstalkServer server(0);
    BeanstalkQueue queue = open(server);
    arm(queue, 1, 0, "old");
    const Tick later = unix_now() + 1000 * kSecond;
    const std::vector<DurableTimer> timers{{1, later, "new"}, {2, later, std::string(70'000, 'x')}};
    expect_contains(error_of([&] { queue.schedule(timers); }), {"JOB_TOO_BIG"});
    if (is_restarted) server.restart();
    EXPECT_TRUE(queue.claim(10, kSecond).timers.empty());
    EXPECT_EQ(queue.size(), 1U);
    EXPECT_TRUE(queue.cancel(1));
    EXPECT_EQ(queue.size(), 0U);
  }
}

// Restarted twice with nothing in its binlog, a server numbers jobs from 1 again.
TEST(BeanstalkQueue, DoesNotDeleteAnotherJobOfTheSameNumber) {
  PrivateBeanstalkServer server(0);
  const Tick later = unix_now() + 1000 * kSecond;
  BeanstalkQueue first = open(server), second = open(server);
  arm(first, 1, later);
  arm(first, 2, 0);
  const auto held = await(first);
  ASSERT_EQ(held.size(), 1U);
  ASSERT_EQ(say(server.endpoint(), {"delete 1"}), "DELETED ");
  ASSERT_TRUE(first.complete(held)[0]);
  for (int i = 0; i < 2; ++i) {
    server.kill();
    server.restart();
  }
  arm(second, 8, later);
  arm(second, 9, later);
  ASSERT_EQ(say(server.endpoint(), {"peek 1", "peek 2"}), "FOUND FOUND ");
  EXPECT_FALSE(first.cancel(1));
  EXPECT_FALSE(first.complete(held)[0]);
  EXPECT_EQ(second.size(), 2U);
  arm(first, 1, later);
  EXPECT_EQ(second.size(), 3U);
}

// --- Others ---

TEST(BeanstalkQueue, ArmsASecondTimerBesideThatOfAnotherClient) {
  PrivateBeanstalkServer server(0);
  BeanstalkQueue first = open(server), second = open(server);
  const Tick later = unix_now() + 1000 * kSecond;
  arm(first, 1, later);
  EXPECT_FALSE(second.cancel(1));
  arm(second, 1, later);
  EXPECT_EQ(first.size(), 2U);
}

TEST(BeanstalkQueue, CannotCancelWhatSomebodyElseHolds) {
  PrivateBeanstalkServer server(0);
  BeanstalkQueue first = open(server), second = open(server);
  arm(first, 1, 0);
  const auto held = await(second);
  ASSERT_EQ(held.size(), 1U);
  EXPECT_FALSE(first.cancel(1));
  second.give_back(held);
  EXPECT_TRUE(first.cancel(1));
  EXPECT_EQ(first.size(), 0U);
}

TEST(BeanstalkQueue, LeavesOtherTubesAlone) {
  PrivateBeanstalkServer server(0);
  ASSERT_EQ(say(server.endpoint(),
                {"use foreign", "put 0 0 60 1\r\nx", "use default", "put 0 0 60 1\r\ny"}),
            "USING INSERTED USING INSERTED ");
  {
    BeanstalkQueue queue = open(server);
    arm(queue, 1, 0);
    EXPECT_EQ(queue.claim(10, kSecond).timers.size(), 1U);
  }
  BeanstalkQueue::delete_tubes(server.endpoint(), "timerbench.", 5000ms);
  EXPECT_EQ(open(server).size(), 0U);
  EXPECT_EQ(say(server.endpoint(), {"peek 1", "peek 2", "peek 3"}), "FOUND FOUND NOT_FOUND ");
}

TEST(BeanstalkQueue, DeletesBuriedJobsWithItsTubes) {
  PrivateBeanstalkServer server(0);
  const BeanstalkEndpoint endpoint = server.endpoint();
  ASSERT_EQ(say(endpoint, {"use timerbench.x", "put 0 0 60 1\r\nx", "watch timerbench.x",
                           "reserve-with-timeout 0", "bury 1 0"}),
            "USING INSERTED WATCHING RESERVED BURIED ");
  expect_contains(
      error_of([&] { BeanstalkQueue::delete_tubes(endpoint, "timerbench.", 5000ms, 0ms); }),
      {"jobs of the tubes timerbench.* could not be deleted for 0 s"});
  ASSERT_EQ(say(endpoint, {"peek 1"}), "FOUND ");
  BeanstalkQueue::delete_tubes(endpoint, "timerbench.", 5000ms);
  EXPECT_EQ(say(endpoint, {"peek 1"}), "NOT_FOUND ");
}

// A server over a network would take a millisecond for each, and there may be a million.
TEST(BeanstalkQueue, DeletesManyJobsOfATubeTogether) {
  constexpr std::uint64_t kJobs = 3000;
  PrivateBeanstalkServer server(50);
  const BeanstalkEndpoint endpoint = server.endpoint();
  std::vector<std::string> puts{"use timerbench.x"};
  for (std::uint64_t i = 0; i < kJobs; ++i) {
    puts.push_back(fmt::format("put 0 {} 60 1\r\nx", i % 2 == 0 ? 0 : 1000));
  }
  say(endpoint, puts);
  BeanstalkQueue::delete_tubes(endpoint, "timerbench.", 5000ms);
  std::uint64_t looks = 0;
  std::istringstream stats(stats_of(endpoint));
  for (std::string line; std::getline(stats, line);) {
    for (const char* const start : {"current-jobs-ready: ", "current-jobs-delayed: "}) {
      if (line.starts_with(start)) {
        EXPECT_EQ(line, fmt::format("{}0", start));
      }
    }
    if (line.starts_with("cmd-peek") || line.starts_with("cmd-kick")) {
      looks += std::stoull(line.substr(line.find(' ')));
    }
  }
  EXPECT_LT(looks, kJobs / 10);
}

TEST(BeanstalkQueue, TellsThatSomebodyHoldsJobsOfATubeThatIsToBeEmptied) {
  PrivateBeanstalkServer server(0);
  BeanstalkQueue queue = open(server);
  arm(queue, 1, 0);
  arm(queue, 2, 0);
  ASSERT_EQ(queue.claim(1, kSecond).timers.size(), 1U);
  expect_contains(
      error_of(
          [&] { BeanstalkQueue::delete_tubes(server.endpoint(), "timerbench.", 5000ms, 300ms); }),
      {"jobs of the tubes timerbench.* could not be deleted for 0.3 s", "no program holds"});
  EXPECT_EQ(queue.size(), 1U);
}

TEST(BeanstalkQueue, TellsOnceOfAJobThatIsNoTimerAndGoesOn) {
  PrivateBeanstalkServer server(0);
  BeanstalkQueue queue = open(server);
  for (const std::string body : {"hello", "1 2 3\n", "a 1 2 x\n", "a 1 2 3"}) {
    const std::string put = fmt::format("put 0 0 60 {}\r\n{}", body.size(), body);
    ASSERT_EQ(say(server.endpoint(), {"use timerbench.durable.timers", put}), "USING INSERTED ");
    expect_contains(error_of([&] { queue.claim(1, kSecond); }),
                    {"timerbench.durable.timers", "no timer", "buried", "keep other programs off"});
    ASSERT_EQ(queue.size(), 0U);
    const DurableTimer timer{7, unix_now() - kSecond, "payload"};
    queue.schedule({&timer, 1});
    const Claims claims = queue.claim(2, kSecond);
    ASSERT_EQ(claims.timers.size(), 1U);
    EXPECT_EQ(claims.timers[0].timer.id, 7U);
    EXPECT_EQ(queue.complete(claims.timers), std::vector<bool>{true});
    BeanstalkQueue::delete_tubes(server.endpoint(), "timerbench.durable.timers", 5000ms);
  }
}

// --- The engine on a server of the user's ---

class BeanstalkEngineTest : public ::testing::Test {
 protected:
  static std::unique_ptr<DurableEngine> start() {
    for (const DurableContender& contender : durable_roster()) {
      if (contender.traits.name == "beanstalkd_f0") return contender.start({});
    }
    throw std::logic_error("beanstalkd_f0");
  }
};

TEST_F(BeanstalkEngineTest, RefusesABadUrl) {
  const ScopedVariable url(kBeanstalkUrlVariable, "nonsense");
  expect_contains(error_of<BackendUnavailable>([] { start(); }), {kBeanstalkUrlVariable});
}

// A server of the user's, where the first job is foreign.
class UsersServer {
 public:
  UsersServer() {
    EXPECT_TRUE(soon([&] {
      try {
        return say(endpoint_, {"put 0 0 60 1\r\nx"}) == "INSERTED ";
      } catch (const BackendUnavailable&) {
        return false;
      }
    }));
  }

  const BeanstalkEndpoint& endpoint() const { return endpoint_; }
  void kill() { server_.kill(); }

 private:
  const BeanstalkEndpoint endpoint_ = Listener().endpoint();  // its port is free again
  PrivateServer server_{
      {.name = "beanstalkd",
       .advice = "install it",
       .arguments =
           [this](const std::filesystem::path& folder) {
             return std::vector<std::string>{
                 "beanstalkd", "-l",  endpoint_.host, "-p", fmt::to_string(endpoint_.port),
                 "-b",         folder};
           },
       .probe = [this](const std::filesystem::path&) { BeanstalkConnection(endpoint_, 5000ms); },
       .patience = 5000ms}};
  const ScopedVariable url_{kBeanstalkUrlVariable, endpoint_.text()};
};

TEST_F(BeanstalkEngineTest, TellsWhatItLeavesOnTheUsersServer) {
  UsersServer server;
  auto engine = start();
  arm(*engine->open({}), 1, 0);
  server.kill();
  testing::internal::CaptureStderr();
  engine.reset();
  const std::string told = testing::internal::GetCapturedStderr();
  expect_contains(told, {"timerbench: cannot clean up: beanstalkd at " + server.endpoint().text(),
                         "Connection refused", "its tubes timerbench.durable.", "delete ID"});
  EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
}

TEST_F(BeanstalkEngineTest, LeavesNothingOnTheUsersServer) {
  const UsersServer server;
  const BeanstalkEndpoint endpoint = server.endpoint();
  {
    auto engine = start();
    const auto other = start();
    EXPECT_FALSE(engine->is_restartable());
    const auto queue = engine->open({});
    arm(*queue, 1, 0);
    arm(*queue, 2, unix_now() + 1000 * kSecond);
    EXPECT_EQ(queue->claim(10, kSecond).timers.size(), 1U);
    engine->restart();
    EXPECT_EQ(queue->size(), 2U);
    if (fork() == 0) {
      engine.reset();  // which is the parent's
      _exit(EXIT_SUCCESS);
    }
    wait(nullptr);
    EXPECT_EQ(queue->size(), 2U);
    EXPECT_EQ(other->open({})->size(), 0U);
  }
  EXPECT_EQ(say(endpoint, {"peek 1", "peek 2", "peek 3"}), "FOUND NOT_FOUND NOT_FOUND ");
}

}  // namespace
}  // namespace timerbench
