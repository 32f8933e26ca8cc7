// A durable queue on one Redis server: what becomes of posted timers when the server refuses them,
// forgets its scripts, or is killed.
#include "durable/redis_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fake_server.h"
#include "redis/link.h"
#include "redis/server.h"

namespace timerbench {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_TRUE(queue->await_earlier(kNever, std::chrono::milliseconds(1)));
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
