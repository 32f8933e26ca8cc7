// The bridge to programs of other languages, and the queues over it, BullMQ's and etcd's: what
// becomes of them when the program, its client or the server is killed or stopped, and what they do
// that the contract leaves open.
#include "durable/bridge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/backend_error.h"
#include "durable/bullmq_queue.h"
#include "durable/etcd_queue.h"
#include "durable/etcd_server.h"
#include "fake_server.h"
#include "redis/connection.h"
#include "redis/server.h"
#include "redis_testing.h"
#include "scratch.h"
#include "time_limit.h"

namespace timerbench {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr Tick kSecond = 1'000'000'000;
constexpr Tick kMinute = 60 * kSecond;

// --- The bridge ---

// Answers what it is asked, when it has read it.
constexpr const char* kEcho = R"(exec python3 -uc 'import sys; print("{}")
for line in sys.stdin: print(line, end="")')";

Bridge::Program program(std::vector<std::string> arguments,
                        std::chrono::milliseconds to_answer = 5s) {
  return {.name = "the bridge to nowhere",
          .advice = "build it",
          .arguments = std::move(arguments),
          .log = "/dev/null",
          .to_answer = to_answer};
}

Bridge::Program shell(std::string script, std::chrono::milliseconds to_answer = 5s) {
  return program({"sh", "-c", std::move(script)}, to_answer);
}

TEST(Bridge, BytesAreTextOnTheWay) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  EXPECT_EQ(Bridge::to_bytes(Bridge::to_text(bytes)), bytes);
  Bridge bridge(shell(kEcho));
  const json answer = bridge.ask({{"bytes", Bridge::to_text(bytes)}});
  EXPECT_EQ(Bridge::to_bytes(answer.at("bytes").get<std::string>()), bytes);
}

TEST(Bridge, TakesLongLines) {
  Bridge bridge(shell(kEcho));
  const std::string text(5'000'000, 'x');
  EXPECT_EQ(bridge.ask({{"text", text}}).at("text"), text);
}

TEST(Bridge, ThatCannotBeStartedIsOneLine) {
  EXPECT_EQ(error_of([] { Bridge(program({"no-such-program"})); }),
            "cannot start the bridge to nowhere: no-such-program: No such file or directory; "
            "build it");
  expect_contains(error_of([] { Bridge(shell("exit 1")); }), {"cannot start", "it has ended"});
  expect_contains(error_of([] { Bridge(shell("echo '{\"error\": \"no\\u001b library\"}'")); }),
                  {"cannot start the bridge to nowhere: no  library; build it"});
  EXPECT_THROW(Bridge(shell("echo hello")), BackendUnavailable);
}

// Old versions cannot even read what bridges are written in.
TEST(Bridge, OfAnOldNodeIsToldApart) {
  const Scratch folder;
  std::ofstream(folder.path() / "old.js")
      << "Object.defineProperty(process, 'versions', {value: {node: '12.22.12'}});\n";
  const ScopedVariable options("NODE_OPTIONS", "--require=" + (folder.path() / "old.js").string());
  EXPECT_EQ(error_of<BackendUnavailable>([] { Bridge(program(Bridge::node("etcd_queue", {}))); }),
            "cannot start the bridge to nowhere: the version 12.22.12 of Node.js is too old; take "
            "18 or newer; build it");
}

TEST(Bridge, PassesOnErrorsAndGoesOn) {
  Bridge bridge(shell(kEcho));
  EXPECT_EQ(error_of([&] {
              bridge.ask({{"error", "out of paper"}});
            }),
            "the bridge to nowhere: out of paper");
  EXPECT_TRUE(bridge.usable());
  EXPECT_EQ(bridge.ask({{"a", 1}}).at("a"), 1);
}

TEST(Bridge, DoesNotWaitForEver) {
  Bridge bridge(shell("echo '{}'; read line; sleep 60", 100ms));
  const auto begin = std::chrono::steady_clock::now();
  expect_contains(error_of([&] { bridge.ask(json::object()); }), {"does not answer in time"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  EXPECT_FALSE(bridge.usable());
}

TEST(Bridge, NoticesTheEndOfItsProgram) {
  Bridge bridge(shell(kEcho));
  kill(bridge.processes().at(0), SIGKILL);
  expect_contains(error_of([&] { bridge.ask(json::object()); }), {"it has ended"});
  EXPECT_FALSE(bridge.usable());
  EXPECT_TRUE(bridge.processes().empty());
}

bool exists(pid_t process) { return kill(process, 0) == 0; }

// Starts one in a process that is then killed; returns whether it ends, too.
bool ends_with_its_client(const std::function<std::vector<pid_t>()>& start) {
  std::array<int, 2> ends;
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t client = fork();
  if (client == 0) {
    const pid_t process = start().at(0);
    if (write(ends[1], &process, sizeof(process)) != sizeof(process)) _exit(1);
    pause();
  }
  pid_t process = 0;
  EXPECT_EQ(read(ends[0], &process, sizeof(process)), ssize_t{sizeof(process)});
  close(ends[0]);
  close(ends[1]);
  EXPECT_TRUE(exists(process));
  kill(client, SIGKILL);
  waitpid(client, nullptr, 0);
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  while (exists(process) && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(5ms);
  }
  return !exists(process);
}

TEST(Bridge, EndsWithItsClient) {
  EXPECT_TRUE(ends_with_its_client([] { return (new Bridge(shell(kEcho)))->processes(); }));
}

// --- What both queues do ---

void arm(DurableQueue& queue, DurableId id, Tick deadline, std::string payload = "") {
  const DurableTimer timer{id, deadline, std::move(payload)};
  queue.schedule({&timer, 1});
}

// Claims until something is handed out.
std::vector<ClaimedTimer> await(DurableQueue& queue) {
  std::vector<ClaimedTimer> claims;
  const auto give_up = std::chrono::steady_clock::now() + 20s;
  while (claims.empty() && std::chrono::steady_clock::now() < give_up) {
    claims = queue.claim(10, kMinute).timers;
    std::this_thread::sleep_for(1ms);
  }
  return claims;
}

void expect_a_new_bridge_after_its_end(DurableQueue& queue) {
  arm(queue, 1, 0);
  kill(queue.helpers().at(0), SIGKILL);
  expect_contains(error_of([&] { queue.size(); }), {"it has ended"});
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(await(queue).size(), 1U);
}

void expect_patience_with_a_stopped_server(DurableQueue& queue, pid_t server) {
  arm(queue, 1, 0);
  kill(server, SIGSTOP);
  expect_contains(error_of([&] { queue.size(); }), {"does not answer in time"});
  kill(server, SIGCONT);
  EXPECT_EQ(await(queue).size(), 1U);
}

// --- BullMQ ---

class Bullmq : public ::testing::Test {
 protected:
  std::unique_ptr<DurableQueue> open(const DurableConfig& config = {}) {
    return std::make_unique<BullmqQueue>(server_.endpoint().path, "/dev/null", config);
  }

  std::set<std::string> keys() {
    RedisConnection connection(server_.endpoint());
    const auto reply = connection.call(REDIS_REPLY_ARRAY, {"KEYS", "*"});
    std::set<std::string> keys;
    for (std::size_t i = 0; i < reply->elements; ++i) keys.insert(reply->element[i]->str);
    return keys;
  }

  PrivateRedisServer server_;
};

TEST_F(Bullmq, ANewBridgeFollowsOneThatHasEnded) { expect_a_new_bridge_after_its_end(*open()); }

TEST_F(Bullmq, IsPatientWithAStoppedServer) {
  expect_patience_with_a_stopped_server(*open({.patience = 1s}), server_.process());
}

TEST_F(Bullmq, EndsWithItsClient) {
  EXPECT_TRUE(ends_with_its_client([&] { return open().release()->helpers(); }));
}

TEST_F(Bullmq, WithoutItsLibraryIsOneLine) {
  const Scratch empty;
  EXPECT_EQ(error_of([&] {
              Bridge(program(
                  Bridge::node("bullmq_queue", {server_.endpoint().path, "timers", empty.path()})));
            }),
            "cannot start the bridge to nowhere: there is no BullMQ in " + empty.path().string() +
                "; build it");
}

TEST_F(Bullmq, MovesInOneStepWhatIsNotDue) {
  const auto queue = open(), other = open();
  const Tick now = unix_now();
  arm(*queue, 1, now + kMinute, "old");
  arm(*other, 1, now, "new");  // another client's
  const auto claims = await(*queue);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].timer.payload, "new");
  EXPECT_EQ(queue->size(), 1U);
}

TEST_F(Bullmq, MovesWhatIsDueAndWaits) {
  const auto queue = open(), other = open();
  arm(*queue, 1, 0, "old");
  arm(*other, 1, unix_now() + kMinute, "new");
  EXPECT_EQ(queue->size(), 1U);
  EXPECT_TRUE(queue->claim(10, kMinute).timers.empty());
  EXPECT_TRUE(queue->cancel(1));
  EXPECT_EQ(queue->size(), 0U);
}

TEST_F(Bullmq, ArmsASecondTimerBesideOneThatAnotherClientHolds) {
  const auto holder = open(), other = open();
  arm(*holder, 1, 0, "old");
  const auto held = await(*holder);
  EXPECT_FALSE(other->cancel(1));
  arm(*other, 1, 0, "new");
  EXPECT_EQ(other->size(), 2U);
  const auto second = await(*other);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].timer.payload, "new");
  EXPECT_EQ(holder->complete(held), std::vector{true});
  EXPECT_EQ(other->complete(second), std::vector{true});
  EXPECT_EQ(other->size(), 0U);
}

TEST_F(Bullmq, LeavesNothingOfATimerBehind) {
  const auto queue = open();
  arm(*queue, 1, 0);
  queue->complete(await(*queue));
  const auto before = keys();
  for (DurableId id = 1; id < 20; ++id) {
    arm(*queue, id, unix_now() + kMinute);
    arm(*queue, id, id % 2 == 0 ? unix_now() + 2 * kMinute : 0);
    arm(*queue, id, id % 3 == 0 ? unix_now() + 2 * kMinute : 0);
  }
  auto held = queue->claim(10, kMinute).timers;
  arm(*queue, held.at(0).timer.id, 0);  // moved while it is held
  queue->give_back(std::span(held).subspan(1, 3));
  queue->complete(held);
  const TimeLimit limit;
  while (queue->size() > 0 && !limit.is_over()) {
    for (DurableId id = 1; id < 20; ++id) queue->cancel(id);
    queue->complete(queue->claim(10, kMinute).timers);
  }
  std::set<std::string> more = keys();
  for (const std::string& key : before) more.erase(key);
  // Of looking for leases that have ended.
  std::erase_if(more, [](const std::string& key) { return key.find(":stalled") != key.npos; });
  std::erase_if(more, [](const std::string& key) { return key.ends_with(":marker"); });
  EXPECT_EQ(more, std::set<std::string>());
}

// --- etcd ---

class Etcd : public ::testing::Test {
 protected:
  std::unique_ptr<DurableQueue> open(const DurableConfig& config = {}) {
    return std::make_unique<EtcdQueue>(server_.socket(), "/dev/null", config);
  }

  PrivateEtcdServer server_;
};

TEST_F(Etcd, ANewBridgeFollowsOneThatHasEnded) { expect_a_new_bridge_after_its_end(*open()); }

TEST_F(Etcd, IsPatientWithAStoppedServer) {
  expect_patience_with_a_stopped_server(*open({.patience = 1s}), server_.process());
}

TEST_F(Etcd, EndsWithItsClient) {
  EXPECT_TRUE(ends_with_its_client([&] { return open().release()->helpers(); }));
}

TEST(EtcdVersion, ThatIsTooOldIsTold) {
  const std::string version = R"({"etcdserver":"3.3.25","etcdcluster":"3.3.0"})";
  const FakeServer old(
      {fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", version.size(), version)},
      FakeServer::kSilence);
  const std::string error =
      error_of<BackendUnavailable>([&] { EtcdQueue queue(old.endpoint().path, "/dev/null", {}); });
  expect_contains(error, {old.endpoint().path, "3.3.25 has no gateway /v3/", "take 3.4 or newer"});
}

TEST_F(Etcd, AWorkerGoesOnWhenTheServerIsRestarted) {
  const auto queue = open();
  EXPECT_TRUE(queue->claim(10, kMinute).timers.empty());
  arm(*queue, 1, unix_now() + kSecond);
  server_.restart();
  arm(*queue, 2, 0);
  std::set<DurableId> ids;
  while (ids.size() < 2) {
    const auto claims = await(*queue);
    ASSERT_FALSE(claims.empty());
    for (const ClaimedTimer& claim : claims) ids.insert(claim.timer.id);
    queue->complete(claims);
  }
  EXPECT_EQ(queue->size(), 0U);
}

TEST_F(Etcd, WorkersSeeAllEventsAndOneHasEachTimer) {
  const auto first = open(), second = open();
  EXPECT_TRUE(first->claim(1, kMinute).timers.empty());
  EXPECT_TRUE(second->claim(1, kMinute).timers.empty());
  std::vector<DurableTimer> timers;
  for (DurableId id = 0; id < 300; ++id) timers.push_back({id, 0});
  first->schedule(timers);
  std::multiset<DurableId> ids;
  for (const auto give_up = std::chrono::steady_clock::now() + 20s;
       ids.size() < timers.size() && std::chrono::steady_clock::now() < give_up;) {
    for (DurableQueue* const queue : {first.get(), second.get()}) {
      const auto claims = queue->claim(20, kMinute).timers;
      for (const ClaimedTimer& claim : claims) ids.insert(claim.timer.id);
      queue->complete(claims);
    }
  }
  EXPECT_EQ(ids.size(), timers.size());
  EXPECT_EQ(std::set<DurableId>(ids.begin(), ids.end()).size(), timers.size());
  EXPECT_EQ(second->size(), 0U);
}

}  // namespace
}  // namespace timerbench
