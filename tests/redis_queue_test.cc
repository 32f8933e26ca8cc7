// A durable queue on one Redis server: what becomes of posted timers when the server refuses them,
// forgets its scripts, or is killed.
#include "durable/redis_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "durable/engine.h"
#include "fake_server.h"
#include "redis/cluster.h"
#include "redis/link.h"
#include "redis/loopback_port.h"
#include "redis/router.h"
#include "redis/server.h"

namespace timerbench {
namespace {

using ::testing::HasSubstr;

constexpr Tick kLease = 60'000'000'000;
constexpr std::chrono::milliseconds kLongEnough{500};  // for an answer that is there

class RedisQueueTest : public ::testing::Test {
 protected:
  std::unique_ptr<RedisQueue> open() {
    return std::make_unique<RedisQueue>(
        std::make_unique<RedisLink>(server_.endpoint(), kRedisPatience), DurableConfig{},
        RedisQueue::Settings{.awaits_posts = false});
  }

  static void post(RedisQueue& queue, DurableId id) {
    const DurableTimer timer{id, unix_now(), "x"};
    queue.post({&timer, 1});
  }

  void configure(std::string_view name, std::string_view value) {
    RedisConnection(server_.endpoint()).call(REDIS_REPLY_STATUS, {"CONFIG", "SET", name, value});
  }

  PrivateRedisServer server_;
};

TEST_F(RedisQueueTest, TellsWithTheNextCallThatAPostWasRefused) {
  const auto queue = open();
  post(*queue, 1);
  configure("maxmemory", "1");
  post(*queue, 2);
  try {
    queue->claim(10, 1);
    ADD_FAILURE() << "nobody was told";
  } catch (const BackendError& error) {
    EXPECT_THAT(error.what(), HasSubstr("OOM"));
  }
  configure("maxmemory", "0");
  const auto claims = queue->claim(10, 1);  // which the refused call has not made
  ASSERT_EQ(claims.timers.size(), 1U);
  EXPECT_EQ(claims.timers[0].timer.id, 1U);
  EXPECT_EQ(queue->size(), 1U);
}

TEST_F(RedisQueueTest, PostsWhatTheServerHasForgotten) {
  const auto queue = open();
  RedisConnection(server_.endpoint()).call(REDIS_REPLY_STATUS, {"SCRIPT", "FLUSH"});
  post(*queue, 1);
  EXPECT_EQ(queue->size(), 1U);
}

TEST_F(RedisQueueTest, TellsThatPostsMayBeLostWithTheServer) {
  const auto queue = open();
  for (DurableId id = 0; id < 300; ++id) post(*queue, id);
  server_.restart();
  EXPECT_THROW(queue->size(), BackendError);
  EXPECT_EQ(queue->size(), 0U);  // this server keeps nothing
  post(*queue, 1);
  EXPECT_EQ(queue->size(), 1U);
}

TEST_F(RedisQueueTest, IsDestroyedInPeaceAlsoWhenTheServerIsGone) {
  const auto queue = open();
  post(*queue, 1);
  server_.kill();
}

TEST_F(RedisQueueTest, MayWaitWhenTheServerIsKilledAndLater) {
  const auto queue = open();
  queue->await_earlier(kNever, std::chrono::nanoseconds(0));
  server_.restart();
  EXPECT_FALSE(queue->await_earlier(kNever, std::chrono::milliseconds(1)));
  post(*queue, 1);
  EXPECT_TRUE(queue->await_earlier(kNever, kLongEnough));
}

TEST_F(RedisQueueTest, IsWokenByWhatIsGoneAgain) {
  const auto queue = open();
  EXPECT_FALSE(queue->await_earlier(kNever, std::chrono::milliseconds(1)));
  RedisConnection other(server_.endpoint());
  const std::string wake = "timerbench:durable:{" + DurableConfig{}.queue + "}:wake";
  other.call(REDIS_REPLY_STATUS, {"MULTI"});
  other.call(REDIS_REPLY_STATUS, {"XADD", wake, "1-1", "w", ""});
  other.call(REDIS_REPLY_STATUS, {"XDEL", wake, "1-1"});
  other.call(REDIS_REPLY_ARRAY, {"EXEC"});
  EXPECT_TRUE(queue->await_earlier(kNever, kLongEnough));
  EXPECT_FALSE(queue->await_earlier(kNever, std::chrono::milliseconds(10)));
}

// What is no timer stays behind those that are, whoever has put it there.
TEST_F(RedisQueueTest, HandsOutTimersThatAreBesideSomethingForeign) {
  RedisConnection own(server_.endpoint());
  const auto queue = open();
  std::vector<DurableTimer> timers;
  for (DurableId id = 1; id <= 3; ++id) timers.push_back({id, 0, "x"});
  queue->schedule(timers);
  const auto keys = own.call(REDIS_REPLY_ARRAY, {"KEYS", "*"});
  std::size_t sets = 0;
  for (std::size_t i = 0; i < keys->elements; ++i) {
    const char* const key = keys->element[i]->str;
    if (std::string_view(own.call(REDIS_REPLY_STATUS, {"TYPE", key})->str) != "zset") continue;
    ++sets;
    own.call(REDIS_REPLY_INTEGER, {"ZADD", key, "0", "foreign"});
  }
  ASSERT_EQ(sets, 1U);
  const auto claims = queue->claim(10, 1'000'000).timers;
  ASSERT_EQ(claims.size(), 3U);
  queue->complete(claims);
  EXPECT_THAT(error_of<BackendError>([&] {
                for (int i = 0; i < 100; ++i) {
                  queue->claim(10, 1'000'000);  // until the lease of what is foreign has ended
                  std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
              }),
              HasSubstr("holds \"foreign\", which is no timer of this queue"));
}

// An idle server looks every 100 ms whether a blocked client has waited enough.
TEST_F(RedisQueueTest, WaitsNoLongerThanIsAsked) {
  using Clock = std::chrono::steady_clock;
  const auto queue = open();
  std::vector<Clock::duration> waits(11);
  for (auto& wait : waits) {
    const auto begin = Clock::now();
    EXPECT_FALSE(queue->await_earlier(kNever, std::chrono::milliseconds(5)));
    wait = Clock::now() - begin;
  }
  std::ranges::sort(waits);
  EXPECT_GE(waits.front(), std::chrono::milliseconds(5));
  EXPECT_LT(waits[waits.size() / 2], std::chrono::milliseconds(30));
}

TEST_F(RedisQueueTest, DoesNotWaitForASilentServerForEver) {
  const RedisEndpoint endpoint = server_.endpoint();
  RedisQueue queue(std::make_unique<RedisLink>(endpoint, kRedisPatience),
                   {.patience = std::chrono::milliseconds(100)}, {});
  queue.await_earlier(kNever, std::chrono::nanoseconds(0));
  ::kill(server_.process(), SIGSTOP);
  const auto wait = [&] {
    for (int i = 0; i < 30; ++i) queue.await_earlier(kNever, std::chrono::milliseconds(100));
  };
  EXPECT_THROW(wait(), BackendError);
  ::kill(server_.process(), SIGCONT);
  RedisConnection(endpoint).call(REDIS_REPLY_STATUS, {"PING"});  // until it goes on
  EXPECT_NO_THROW(queue.await_earlier(kNever, std::chrono::milliseconds(1)));
}

// Entries of a stream are numbered by the clock of the server.
TEST_F(RedisQueueTest, IsWokenByANewServerWhoseClockIsBehind) {
  constexpr std::string_view kFarAhead = "9999999999999-0";
  const auto queue = open();
  RedisConnection(server_.endpoint())
      .call(REDIS_REPLY_STRING, {"XADD", "timerbench:durable:{timers}:wake", kFarAhead, "w", ""});
  EXPECT_TRUE(queue->await_earlier(kNever, kLongEnough));
  server_.restart();  // it keeps nothing
  EXPECT_FALSE(queue->await_earlier(kNever, std::chrono::milliseconds(1)));
  post(*queue, 1);
  EXPECT_TRUE(queue->await_earlier(kNever, kLongEnough));
}

// --- Two shards, of which one may be silent ---

constexpr std::chrono::seconds kPatienceOfShards{60};

// To one server, as if one key were on a node that does not answer. It does not wait, but tells how
// long it would.
class SilentForOne final : public RedisRouter {
 public:
  using Waits = std::vector<std::chrono::steady_clock::duration>;

  SilentForOne(RedisEndpoint endpoint, const std::string& key, Waits& waits)
      : link_(std::move(endpoint)), key_(key), waits_(waits) {}

  void with(std::string_view key, const Limits& limits, const Use& use) override {
    if (key == key_) {
      waits_.push_back(limits.give_up - std::chrono::steady_clock::now());
      throw RedisAnswerLost("no answer");
    }
    link_.with(key, limits, use);
  }
  std::unique_ptr<RedisRouter> another() const override { return link_.another(); }

 private:
  RedisLink link_;
  const std::string& key_;
  Waits& waits_;
};

class RedisShardsTest : public RedisQueueTest {
 protected:
  void SetUp() override {
    std::vector<DurableTimer> timers;
    for (DurableId id = 0; id < 20; ++id) timers.push_back({id, 0, "x"});
    queue_.schedule(timers);
    const auto keys = own_.call(REDIS_REPLY_ARRAY, {"KEYS", "*:due"});
    ASSERT_EQ(keys->elements, 2U);
    due_ = {keys->element[0]->str, keys->element[1]->str};
    std::ranges::sort(due_, {}, redis_slot);
  }

  std::set<DurableId> ids_of(const std::string& due) {
    std::set<DurableId> ids;
    const auto members = own_.call(REDIS_REPLY_ARRAY, {"ZRANGE", due, "0", "-1"});
    for (std::size_t i = 0; i < members->elements; ++i) {
      ids.insert(std::stoull(members->element[i]->str));
    }
    return ids;
  }

  RedisConnection own_{server_.endpoint()};
  std::string silent_;         // the key; empty: both answer
  SilentForOne::Waits waits_;  // for the silent one
  RedisQueue queue_{std::make_unique<SilentForOne>(server_.endpoint(), silent_, waits_),
                    {.patience = kPatienceOfShards},
                    {.shards = 2}};
  std::vector<std::string> due_;  // the keys, in the order of the shards
};

// Each claim begins at the next shard, so one of these begins at the silent one.
TEST_F(RedisShardsTest, ASilentOneLeavesTimeToTheOther) {
  silent_ = due_[0];
  const auto others = ids_of(due_[1]);
  for (int i = 0; i < 2; ++i) {
    const auto claims = queue_.claim(1, kLease).timers;
    ASSERT_EQ(claims.size(), 1U);
    EXPECT_TRUE(others.contains(claims[0].timer.id));
  }
  ASSERT_EQ(waits_.size(), 1U);
  EXPECT_LE(waits_[0], kPatienceOfShards / 2);
}

TEST_F(RedisShardsTest, TheOtherCompletesWhatItHasIfOneIsSilent) {
  const auto claims = queue_.claim(100, kLease).timers;
  ASSERT_EQ(claims.size(), 20U);
  for (const std::size_t silent : {1U, 0U}) {
    const auto before = ids_of(due_[1 - silent]);
    EXPECT_FALSE(before.empty());
    silent_ = due_[silent];
    EXPECT_THROW(queue_.complete(claims), BackendError);
    EXPECT_TRUE(ids_of(due_[1 - silent]).empty());
    silent_.clear();
  }
  EXPECT_LE(waits_.back(), kPatienceOfShards / 2) << "the first leaves time to the second";
}

TEST_F(RedisShardsTest, TheOtherTakesBackWhatItHasIfOneIsSilent) {
  for (const std::size_t silent : {1U, 0U}) {
    const auto claims = queue_.claim(100, kLease).timers;
    ASSERT_EQ(claims.size(), 20U);
    silent_ = due_[silent];
    EXPECT_THROW(queue_.give_back(claims), BackendError);
    const auto again = queue_.claim(100, kLease).timers;
    EXPECT_EQ(again.size(), ids_of(due_[1 - silent]).size());
    silent_.clear();
    queue_.give_back(claims);
    queue_.give_back(again);
  }
}

TEST_F(RedisShardsTest, WhatWasCompletedInOneBeforeTheOtherFailedIsToldByTheNextCall) {
  auto claims = queue_.claim(100, kLease).timers;
  ASSERT_EQ(claims.size(), 20U);
  std::vector<bool> held(claims.size(), true);
  const DurableId not_held = *ids_of(due_[0]).begin();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].timer.id != not_held) continue;
    ++claims[i].token;
    held[i] = false;
  }
  silent_ = due_[1];
  EXPECT_THROW(queue_.complete(claims), BackendError);
  silent_.clear();
  EXPECT_EQ(queue_.complete(claims), held);
  EXPECT_EQ(queue_.complete(claims), std::vector<bool>(claims.size(), false));
}

// --- The engine on a server of the user's ---

const DurableContender& contender_named(std::string_view name) {
  for (const DurableContender& contender : durable_roster()) {
    if (contender.traits.name == name) return contender;
  }
  throw std::logic_error(std::string(name));
}

TEST_F(RedisQueueTest, IsOnTheUsersServerAndLeavesTheRestAlone) {
  RedisConnection own(server_.endpoint());
  const auto all = [&] {
    std::map<std::string, std::string> all;
    const auto keys = own.call(REDIS_REPLY_ARRAY, {"KEYS", "*"});
    for (std::size_t i = 0; i < keys->elements; ++i) {
      const auto value = own.call(REDIS_REPLY_STRING, {"DUMP", keys->element[i]->str});
      all[keys->element[i]->str] = {value->str, value->len};
    }
    return all;
  };
  for (int i = 0; i < 3000; ++i) {
    own.call(REDIS_REPLY_STATUS, {"SET", std::to_string(i), "foreign"});
  }
  const auto other = open();  // of the same name
  const DurableTimer mine{1, 0, "mine"};
  other->schedule({&mine, 1});
  const auto before = all();
  const ScopedVariable url(kRedisUrlVariable, server_.endpoint().url());
  for (const std::string_view name : {"redis_memory", "redis_everysec", "redis_always"}) {
    auto engine = contender_named(name).start("");
    EXPECT_FALSE(engine->is_restartable());
    EXPECT_TRUE(engine->processes().empty());
    EXPECT_TRUE(engine->folders().empty());
    const auto queue = engine->open({});
    const DurableTimer timer{2, 0, "theirs"};
    queue->schedule({&timer, 1});
    engine->restart();
    if (fork() == 0) {
      engine.reset();  // which is the parent's
      _exit(EXIT_SUCCESS);
    }
    wait(nullptr);
    const auto claims = queue->claim(10, kLease).timers;
    ASSERT_EQ(claims.size(), 1U);
    EXPECT_EQ(claims[0].timer, timer);
    EXPECT_GT(all().size(), before.size());
    engine.reset();
    EXPECT_EQ(all(), before) << name;
  }
}

// And repeats no password.
TEST_F(RedisQueueTest, TellsWhatItLeavesOnTheUsersServer) {
  const int port = LoopbackPort().number();
  configure("port", std::to_string(port));
  configure("requirepass", "secret");
  const std::string address = "127.0.0.1:" + std::to_string(port);
  const ScopedVariable url(kRedisUrlVariable, "redis://:secret@" + address);
  auto engine = contender_named("redis_memory").start("");
  engine->open({});
  server_.kill();
  testing::internal::CaptureStderr();
  engine.reset();
  const std::string told = testing::internal::GetCapturedStderr();
  expect_contains(
      told, {"timerbench: cannot clean up: redis at redis://" + address, "Connection refused",
             "its keys timerbench:durable:{", "redis-cli --scan --pattern 'timerbench:durable:{"});
  EXPECT_EQ(told.find("secret"), told.npos) << told;
  EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
}

TEST(RedisQueueUrl, ThatIsWrongIsTold) {
  const auto failure_of = [](const std::string& url) {
    const ScopedVariable variable(kRedisUrlVariable, url);
    return error_of<BackendUnavailable>([] { contender_named("redis_always").start(""); });
  };
  expect_contains(failure_of("localhost"), {kRedisUrlVariable, "neither redis://"});
  const std::string missing = failure_of("redis://me:secret@127.0.0.1:1");
  expect_contains(missing, {"127.0.0.1:1", "cannot connect", kRedisUrlVariable});
  EXPECT_EQ(missing.find("secret"), missing.npos) << missing;
}

TEST(RedisQueueUrl, DoesNotConcernTheReplica) {
  const ScopedVariable variable(kRedisUrlVariable, "redis://127.0.0.1:1");
  EXPECT_EQ(contender_named("redis_replica").start("")->processes().size(), 2U);
}

TEST(RedisQueueVersion, ThatIsTooOldIsTold) {
  const std::string script = "$3\r\nsha\r\n";
  const FakeServer old(
      {"+PONG\r\n", script, script, script, script, script, "$22\r\nredis_version:4.0.14\r\n\r\n"},
      FakeServer::kSilence);
  const std::string error = error_of<BackendUnavailable>(
      [&] { RedisQueue queue(std::make_unique<RedisLink>(old.endpoint()), {}, {}); });
  expect_contains(error, {old.endpoint().path, "4.0.14 has no streams", "take 5 or newer"});
}

}  // namespace
}  // namespace timerbench
