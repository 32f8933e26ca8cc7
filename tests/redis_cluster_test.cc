// Redis with replicas: the client of Redis Cluster while slots are moved and masters die, the queue
// over it, and the private servers. One cluster serves all tests.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/descriptor.h"
#include "durable/engine.h"
#include "durable/redis_queue.h"
#include "redis/cluster.h"
#include "redis/link.h"
#include "redis/loopback_port.h"
#include "redis/private_cluster.h"
#include "redis/private_pair.h"
#include "redis/script.h"
#include "redis/slot_move.h"
#include "redis_testing.h"
#include "time_limit.h"

namespace timerbench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

[[maybe_unused]] const int kNoUrl = unsetenv(kRedisClusterUrlVariable);

constexpr std::size_t kShards = 16;
constexpr Tick kMs = 1'000'000;
constexpr Tick kLease = 60'000 * kMs;

class TheCluster : public ::testing::Environment {
 public:
  static PrivateRedisCluster& get() { return *cluster; }
  void SetUp() override { cluster.emplace(); }
  void TearDown() override { cluster.reset(); }

 private:
  inline static std::optional<PrivateRedisCluster> cluster;
};

[[maybe_unused]] const auto* const kEnvironment =
    ::testing::AddGlobalTestEnvironment(new TheCluster);  // which gtest deletes

const std::vector<RedisEndpoint>& nodes() { return TheCluster::get().endpoints(); }

RedisRouter::Limits within(std::chrono::milliseconds patience) {
  return {.give_up = Clock::now() + patience};
}

std::string text_of(const RedisConnection::Reply& reply) { return {reply->str, reply->len}; }

std::string id_of(const RedisEndpoint& endpoint) {
  RedisConnection connection(endpoint);
  return redis_node_id(connection);
}

void set(RedisCluster& cluster, const std::string& key, const std::string& value) {
  cluster.with(key, within(5s), [&](RedisConnection& connection) {
    connection.call(REDIS_REPLY_STATUS, {"SET", key, value});
  });
}

std::string get(RedisCluster& cluster, const std::string& key) {
  std::string value;
  cluster.with(key, within(5s), [&](RedisConnection& connection) {
    value = text_of(connection.call(REDIS_REPLY_STRING, {"GET", key}));
  });
  return value;
}

bool is_master(const RedisEndpoint& endpoint) {
  RedisConnection connection(endpoint);
  return std::string(connection.call(REDIS_REPLY_ARRAY, {"ROLE"})->element[0]->str) == "master";
}

// The number of the master that has the key.
std::size_t master_of(const std::string& key) {
  std::string id;
  RedisCluster(nodes()).with(key, within(5s), [&](RedisConnection& connection) {
    // Its own key, so that an old map is noticed.
    connection.call(REDIS_REPLY_INTEGER, {"EXISTS", key});
    id = text_of(connection.call(REDIS_REPLY_STRING, {"CLUSTER", "MYID"}));
  });
  // They stay the same, and a node that hangs cannot be asked.
  static const std::vector<std::string> ids = [] {
    std::vector<std::string> ids;
    for (const RedisEndpoint& node : nodes()) ids.push_back(id_of(node));
    return ids;
  }();
  const auto found = std::ranges::find(ids, id);
  if (found == ids.end()) throw std::logic_error(id);
  return static_cast<std::size_t>(found - ids.begin());
}

std::size_t another_master(std::size_t than) {
  for (std::size_t step = 1; step < nodes().size(); ++step) {
    const std::size_t other = (than + step) % nodes().size();
    if (is_master(nodes()[other])) return other;
  }
  throw std::logic_error("one master");
}

// The key's slot, on its way from its master to another. It arrives also if the test fails: as long
// as a slot is on its way, the cluster does not agree on who has it after a failover.
class Move : public SlotMove {
 public:
  explicit Move(const std::string& key) : Move(key, master_of(key)) {}
  ~Move() {
    try {
      if (!is_finished_) SlotMove::finish();
    } catch (const BackendError& error) {
      ADD_FAILURE() << error.what();
    }
  }

  void finish() {
    SlotMove::finish();
    is_finished_ = true;
  }

 private:
  Move(const std::string& key, std::size_t from)
      : SlotMove(static_cast<int>(redis_slot(key)), nodes()[from], nodes()[another_master(from)]) {}

  bool is_finished_ = false;
};

// The slot of the tag on its way: the key {tag}gone has moved, and {tag}here has not.
std::unique_ptr<Move> begin_move(RedisCluster& cluster, const std::string& tag) {
  set(cluster, tag + "gone", "1");
  set(cluster, tag + "here", "2");
  auto move = std::make_unique<Move>(tag);
  move->move({tag + "gone"});
  return move;
}

std::unique_ptr<RedisQueue> open(const std::string& name, int replicas = 0,
                                 std::chrono::milliseconds patience = 5s) {
  DurableConfig config{.queue = name, .patience = patience};
  return std::make_unique<RedisQueue>(
      std::make_unique<RedisCluster>(nodes(), patience), config,
      RedisQueue::Settings{.shards = kShards, .replicas = replicas});
}

// All keys of the cluster that are like the pattern.
std::set<std::string> keys_like(const std::string& pattern) {
  std::set<std::string> keys;
  RedisCluster(nodes()).with_each_master(5s, [&](RedisConnection& connection) {
    const auto reply = connection.call(REDIS_REPLY_ARRAY, {"KEYS", pattern});
    for (std::size_t i = 0; i < reply->elements; ++i) keys.emplace(reply->element[i]->str);
  });
  return keys;
}

// --- Slots ---

TEST(RedisSlot, IsAsTheSpecificationSays) {
  EXPECT_EQ(redis_slot("123456789"), 0x31C3U);
  EXPECT_EQ(redis_slot("{user1000}.following"), redis_slot("user1000"));
  EXPECT_EQ(redis_slot("{user1000}.followers"), redis_slot("user1000"));
  EXPECT_EQ(redis_slot("foo{{bar}}zap"), redis_slot("{bar"));
  EXPECT_EQ(redis_slot("foo{bar}{zap}"), redis_slot("bar"));
  EXPECT_EQ(redis_slot(""), 0U);
}

TEST(RedisSlot, IsAsTheServerSays) {
  RedisConnection connection(nodes()[0]);
  for (const std::string key : {"foo{}{bar}", "{", "}{", "{}", "{a", "a}b{c}", "123456789",
                                "{user1000}.x", "\xff\x01{\xfe}"}) {
    const auto slot = connection.call(REDIS_REPLY_INTEGER, {"CLUSTER", "KEYSLOT", key})->integer;
    EXPECT_EQ(static_cast<long long>(redis_slot(key)), slot) << key;
  }
}

TEST(RedisSlot, OfEachShardIsInItsPartOfAllSlots) {
  const auto queue = open("slots");
  for (DurableId id = 0; id < 1000; ++id) {
    const DurableTimer timer{id, 0};
    queue->schedule({&timer, 1});
  }
  std::set<std::size_t> parts;
  const auto keys = keys_like("timerbench:durable:{slots:*:due");
  for (const std::string& key : keys) parts.insert(redis_slot(key) * kShards / kRedisSlots);
  EXPECT_EQ(keys.size(), kShards);
  EXPECT_EQ(parts.size(), kShards);
}

// --- Masters ---

// WAIT for more replicas than there are answers when its time is over.
TEST(RedisClusterMasters, HaveThePatienceForEachAnswer) {
  std::size_t masters = 0;
  RedisCluster(nodes()).with_each_master(2s, [&](RedisConnection& connection) {
    for (int i = 0; i < 3; ++i) connection.call(REDIS_REPLY_INTEGER, {"WAIT", "9", "800"});
    ++masters;
  });
  EXPECT_EQ(masters, PrivateRedisCluster::kMasters);
}

TEST(RedisClusterMasters, AreAllMetThoughOneFails) {
  std::size_t masters = 0;
  EXPECT_THROW(RedisCluster(nodes()).with_each_master(
                   5s,
                   [&](RedisConnection& connection) {
                     if (++masters == 1) connection.call(REDIS_REPLY_INTEGER, {"NO", "SUCH"});
                   }),
               BackendError);
  EXPECT_EQ(masters, PrivateRedisCluster::kMasters);
}

// --- Slots that move ---

TEST(RedisClusterMove, IsFoundByAClientWithAnOldMap) {
  RedisCluster cluster(nodes());
  set(cluster, "moved", "value");
  Move move("moved");
  move.finish();
  expect_contains(error_of<RedisReplyError>([&] {
                    move.source().call(REDIS_REPLY_STRING, {"GET", "moved"});
                  }),
                  {"MOVED"});
  EXPECT_EQ(get(cluster, "moved"), "value");
  set(cluster, "moved", "again");
  EXPECT_EQ(text_of(move.target().call(REDIS_REPLY_STRING, {"GET", "moved"})), "again");
}

TEST(RedisClusterMove, IsAskedForWhileItLasts) {
  RedisCluster cluster(nodes());
  const auto move = begin_move(cluster, "{ask}");
  expect_contains(error_of<RedisReplyError>([&] {
                    move->source().call(REDIS_REPLY_STRING, {"GET", "{ask}gone"});
                  }),
                  {"ASK"});
  EXPECT_EQ(get(cluster, "{ask}gone"), "1");
  EXPECT_EQ(get(cluster, "{ask}here"), "2");
  // A script that the other node has never seen.
  const RedisScript script(move->source(), "return redis.call('GET', KEYS[1]) .. ' and ask'");
  std::string answer;
  cluster.with("{ask}gone", within(5s), [&](RedisConnection& connection) {
    answer = text_of(script.call(connection, REDIS_REPLY_STRING, "1", "{ask}gone"));
  });
  EXPECT_EQ(answer, "1 and ask");
  move->finish();
  EXPECT_EQ(get(cluster, "{ask}gone"), "1");
  EXPECT_EQ(get(cluster, "{ask}here"), "2");
}

// The node that was asked for a slot on its way still has that question when it is asked for the map.
TEST(RedisClusterMove, MixesUpNoAnswersWithThoseThatAreAwaited) {
  const auto queue = open("awaited");
  const std::string wake = "timerbench:durable:{awaited}:wake";
  Move move(wake);
  EXPECT_FALSE(queue->await_earlier(kNever, 500ms));
  move.finish();
  move.target().call(REDIS_REPLY_STRING, {"XADD", wake, "*", "w", ""});
  EXPECT_TRUE(queue->await_earlier(kNever, 5s));
  EXPECT_FALSE(queue->await_earlier(kNever, 1ms));
}

// A repetition that is left no time for its answer would make a doubt of what is known: nothing has
// been done.
TEST(RedisClusterMove, ThatOutlastsThePatienceIsToldAsSuch) {
  RedisCluster cluster(nodes());
  const auto move = begin_move(cluster, "{long}");
  constexpr const char* kTake20Ms = R"(
    local function now()
      local time = redis.call('TIME')
      return time[1] * 1000000 + time[2]
    end
    local start = now()
    while now() < start + 20000 do end
    return 'done'
  )";
  for (const auto patience : {400ms, 405ms, 410ms, 415ms, 420ms, 425ms, 430ms}) {
    expect_contains(
        error_of<BackendUnavailable>([&] {
          cluster.with("{long}here", within(patience), [&](RedisConnection& connection) {
            connection.call(REDIS_REPLY_STRING, {"EVAL", kTake20Ms, "0"});
            connection.call(REDIS_REPLY_ARRAY, {"MGET", "{long}gone", "{long}here"});
          });
        }),
        {"TRYAGAIN"});
  }
}

TEST(RedisClusterMove, StopsOneShardAndNoOther) {
  const auto queue = open("half", 0, 2s);
  std::vector<DurableTimer> timers;
  for (DurableId id = 0; id < 200; ++id) timers.push_back({id, 0, "x"});
  queue->schedule(timers);
  const std::string due = *keys_like("timerbench:durable:{half:*:due").begin();
  RedisCluster cluster(nodes());
  long long stopped = 0;
  cluster.with(due, within(5s), [&](RedisConnection& connection) {
    stopped = connection.call(REDIS_REPLY_INTEGER, {"ZCARD", due})->integer;
  });
  ASSERT_GT(stopped, 0);

  Move move(due);
  move.move({due});  // and not the payloads
  const auto before = Clock::now();
  expect_contains(error_of<BackendUnavailable>([&] { queue->schedule(timers); }), {"TRYAGAIN"});
  const auto after = Clock::now();
  EXPECT_LT(after - before, 5s);
  const Claims claims = queue->claim(1000, kLease);
  EXPECT_LT(Clock::now() - after, 1800ms);  // it does not wait
  EXPECT_EQ(claims.timers.size(), 200U - static_cast<std::size_t>(stopped));
  // Nothing else is due, but that shard may have something.
  const Claims none = queue->claim(1000, kLease);
  EXPECT_TRUE(none.timers.empty());
  EXPECT_LE(none.next_wakeup, unix_now() + 100 * kMs);

  move.finish();
  EXPECT_EQ(queue->claim(1000, kLease).timers.size(), static_cast<std::size_t>(stopped));
  EXPECT_EQ(queue->size(), 200U);
}

// --- Under load ---

// Producers and workers of one queue, and what was told of each timer.
class Load {
 public:
  Load(const std::string& name, int replicas) : name_(name) {
    // Opened before a master is killed: a thread that throws would end the program.
    for (int i = 0; i < 4; ++i) queues_.push_back(open(name, replicas));
    for (DurableId i = 0; i < 2; ++i) {
      threads_.emplace_back([this, i] { produce(i, *queues_[i]); });
      threads_.emplace_back([this, i] { work(*queues_[2 + i]); });
    }
  }
  ~Load() { end(); }

  // Returns when all that was acknowledged has been handed out, or nothing is any more.
  void end() {
    is_over_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

  // Returns when so many are acknowledged, or none will be any more.
  void await(std::size_t timers) {
    const TimeLimit limit;
    while (acknowledged() < timers && !limit.is_over()) std::this_thread::sleep_for(1ms);
  }

  std::size_t acknowledged() {
    const std::lock_guard lock(mutex_);
    return armed_.size();
  }
  // REQUIRES: it has ended.
  std::size_t failures() const { return failures_; }
  void expect_exact(bool once) const {
    std::size_t lost = 0, twice = 0, out_of_nothing = 0, after_completion = 0;
    for (const DurableId id : armed_) lost += fired_.contains(id) ? 0 : 1;
    for (const auto& [id, times] : fired_) {
      out_of_nothing += armed_.contains(id) || repeated_.contains(id) ? 0 : 1;
      twice += times > 1 ? 1 : 0;
    }
    for (const DurableId id : again_) after_completion += repeated_.contains(id) ? 0 : 1;
    EXPECT_EQ(lost, 0U) << "of " << armed_.size();
    EXPECT_EQ(out_of_nothing, 0U);
    EXPECT_EQ(after_completion, 0U);
    if (once) {
      EXPECT_EQ(twice, 0U);
    }
    EXPECT_EQ(open(name_)->size(), 0U);
  }

 private:
  void produce(DurableId first, RedisQueue& queue) {
    for (DurableId id = first; !is_over_; id += 2) {
      const DurableTimer timer{id, unix_now() + static_cast<Tick>(id % 20) * kMs, "payload"};
      while (!is_done([&] { queue.schedule({&timer, 1}); })) {
        const std::lock_guard lock(mutex_);
        repeated_.insert(id);
      }
      const std::lock_guard lock(mutex_);
      armed_.insert(id);
    }
  }

  void work(RedisQueue& queue) {
    auto last = Clock::now();
    while (!is_over_ || Clock::now() - last < 3s) {
      std::vector<ClaimedTimer> claims;
      is_done([&] { claims = queue.claim(10, kShortLease).timers; });
      if (claims.empty()) {
        std::this_thread::sleep_for(1ms);
        continue;
      }
      last = Clock::now();
      {
        const std::lock_guard lock(mutex_);
        for (const ClaimedTimer& claim : claims) {
          ++fired_[claim.timer.id];
          if (completed_.contains(claim.timer.id)) again_.insert(claim.timer.id);
        }
      }
      std::vector<bool> held;
      if (!is_done([&] { held = queue.complete(claims); })) continue;
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < claims.size(); ++i) {
        if (held[i]) completed_.insert(claims[i].timer.id);
      }
    }
  }

  template <class Call>
  bool is_done(Call&& call) {
    try {
      call();
      return true;
    } catch (const BackendError&) {
      ++failures_;
      return false;
    }
  }

  static constexpr Tick kShortLease = 2'000 * kMs;

  const std::string name_;
  std::atomic<bool> is_over_ = false;
  std::atomic<std::size_t> failures_ = 0;
  std::mutex mutex_;
  std::set<DurableId> armed_, repeated_, completed_, again_;
  std::map<DurableId, int> fired_;
  std::vector<std::unique_ptr<RedisQueue>> queues_;
  std::vector<std::thread> threads_;
};

TEST(RedisClusterLoad, LosesNothingWhileEachShardMoves) {
  Load load("resharded", 0);
  ASSERT_TRUE(soon([] { return keys_like("timerbench:durable:{resharded:*:payload").size() > 4; }));
  std::set<std::string> tags;
  for (const std::string& key : keys_like("timerbench:durable:{resharded:*")) {
    tags.insert(key.substr(0, key.find('}') + 1));
  }
  for (const std::string& tag : tags) Move(tag).finish();
  load.await(101);
  load.end();
  EXPECT_GT(load.acknowledged(), 100U);
  EXPECT_EQ(load.failures(), 0U);
  load.expect_exact(/*once=*/true);
}

TEST(RedisClusterLoad, LosesNothingThatAReplicaHasWhenMastersDie) {
  Load load("failover", 1);
  for (int round = 0; round < 2; ++round) {
    std::this_thread::sleep_for(200ms);
    const auto start = Clock::now();
    const auto took = TheCluster::get().kill_master();
    TheCluster::get().mend();
    fmt::print("replaced after {} ms, mended after {:.0f} ms\n", took.count(),
               std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  load.await(101);
  load.end();
  EXPECT_GT(load.acknowledged(), 100U);
  load.expect_exact(/*once=*/false);
}

TEST(RedisClusterLoad, GoesOnWhenAMasterHangs) {
  const auto queue = open("hangs", 0, 1s);
  std::vector<DurableTimer> timers;
  for (DurableId id = 0; id < 100; ++id) timers.push_back({id, 0, "x"});
  queue->schedule(timers);
  const std::string due = *keys_like("timerbench:durable:{hangs:*:due").begin();
  const std::size_t master = master_of(due);
  const pid_t process = TheCluster::get().node(master).process();
  kill(process, SIGSTOP);
  const auto start = Clock::now();
  std::size_t failures = 0;
  for (bool is_armed = false; !is_armed && Clock::now() - start < 20s;) {
    const auto before = Clock::now();
    try {
      queue->schedule(timers);
      is_armed = true;
    } catch (const BackendError&) {
      ++failures;
    }
    EXPECT_LT(Clock::now() - before, 3s);
  }
  EXPECT_NE(master_of(due), master);
  EXPECT_GT(failures, 0U);
  EXPECT_EQ(open("hangs", 0, 20s)->size(), 100U);  // a busy machine may be slow to answer
  kill(process, SIGCONT);
  TheCluster::get().mend();
}

// A master that has shards of a queue, and its replica, stopped: nobody takes over.
class StoppedShards {
 public:
  // REQUIRES: the queue has timers in all of its shards.
  explicit StoppedShards(const std::string& queue)
      : keys_(keys_like(fmt::format("timerbench:durable:{{{}:*:due", queue))),
        master_(master_of(*keys_.begin())) {
    RedisConnection master(nodes()[master_]);
    for (const std::string& key : keys_) {
      try {
        const auto ids = master.call(REDIS_REPLY_ARRAY, {"ZRANGE", key, "0", "-1"});
        for (std::size_t i = 0; i < ids->elements; ++i)
          ids_.insert(std::stoull(ids->element[i]->str));
      } catch (const RedisReplyError&) {  // another master has it
      }
    }
  }
  ~StoppedShards() {
    for (const pid_t process : stopped_) kill(process, SIGCONT);
    try {
      TheCluster::get().mend();
    } catch (const BackendError& error) {
      ADD_FAILURE() << error.what();
    }
  }

  bool contains(DurableId id) const { return ids_.contains(id); }
  std::size_t size() const { return ids_.size(); }

  // Claims and gives back until the next claim begins at the first shard of those that will be
  // stopped, or at the first of the others.
  void turn(DurableQueue& queue, bool to_these) const {
    const auto begins_here = [&] {
      const auto claims = queue.claim(1, kLease).timers;
      queue.give_back(claims);
      return contains(claims.at(0).timer.id);
    };
    std::vector<bool> here;
    for (std::size_t i = 0; i < kShards; ++i) here.push_back(begins_here());
    for (std::size_t i = 0; here[i] != to_these || here[(i + kShards - 1) % kShards] == to_these;
         ++i) {
      begins_here();
    }
  }

  void stop() {
    for (std::size_t i = 0; i < nodes().size(); ++i) {
      RedisConnection connection(nodes()[i]);
      const auto role = connection.call(REDIS_REPLY_ARRAY, {"ROLE"});
      const bool is_its_replica =
          role->elements == 5 && role->element[1]->str == nodes()[master_].host;
      if (i == master_ || is_its_replica) stopped_.push_back(TheCluster::get().node(i).process());
    }
    ASSERT_EQ(stopped_.size(), 2U);
    for (const pid_t process : stopped_) kill(process, SIGSTOP);
  }

 private:
  const std::set<std::string> keys_;
  const std::size_t master_;
  std::set<DurableId> ids_;
  std::vector<pid_t> stopped_;
};

TEST(RedisClusterLoad, ClaimsFromTheOthersWhenAMasterHangs) {
  constexpr Tick kShortLease = 4'000 * kMs;
  const auto queue = open("stopped", 0, 5s), beginner = open("stopped", 0, 2s);
  std::vector<DurableTimer> timers;
  for (DurableId id = 0; id < 200; ++id) timers.push_back({id, 0, "x"});
  queue->schedule(timers);
  StoppedShards shards("stopped");
  shards.turn(*queue, /*to_these=*/false);
  shards.turn(*beginner, /*to_these=*/true);
  shards.stop();

  const auto before = Clock::now();
  const auto claims = queue->claim(1000, kShortLease).timers;
  EXPECT_LT(Clock::now() - before, 3s);  // the lease is not over
  EXPECT_EQ(claims.size(), timers.size() - shards.size());
  EXPECT_EQ(queue->complete(claims), std::vector<bool>(claims.size(), true));

  // Nothing is due but there, where it begins.
  const auto middle = Clock::now();
  const Claims none = beginner->claim(1000, kShortLease);
  EXPECT_LT(Clock::now() - middle, 3s);
  EXPECT_TRUE(none.timers.empty());
  EXPECT_LE(none.next_wakeup, unix_now() + 100 * kMs);
}

// --- Clusters that are not ours, and what is none ---

const DurableContender& contender_named(std::string_view name) {
  for (const DurableContender& contender : durable_roster()) {
    if (contender.traits.name == name) return contender;
  }
  throw std::logic_error(std::string(name));
}

std::string url_of(const RedisEndpoint& endpoint, const std::string& credentials) {
  return fmt::format("redis://{}@{}:{}", credentials, endpoint.host, endpoint.port);
}

TEST(RedisClusterUrl, LeavesOtherKeysAlone) {
  RedisCluster cluster(nodes());
  const auto other = open("mine");
  const DurableTimer timer{1, 0, "mine"};
  other->schedule({&timer, 1});
  for (int i = 0; i < 100; ++i) set(cluster, fmt::format("foreign:{}", i), std::to_string(i));
  const auto before = keys_like("*");
  {
    const ScopedVariable url(kRedisClusterUrlVariable,
                             url_of(nodes()[4], ":" + nodes()[4].password));
    const auto engine = contender_named("redis_cluster_wait").start("");
    EXPECT_TRUE(engine->processes().empty());
    const auto queue = engine->open({.queue = "mine"});
    for (DurableId id = 0; id < 100; ++id) {
      const DurableTimer each{id, 0, "theirs"};
      queue->schedule({&each, 1});
    }
    EXPECT_EQ(queue->claim(1000, kLease).timers.size(), 100U);
    EXPECT_GT(keys_like("*").size(), before.size());
    const auto few = engine->open({.queue = "few", .shards = 4});
    for (DurableId id = 0; id < 100; ++id) {
      const DurableTimer each{id, 0};
      few->schedule({&each, 1});
    }
    EXPECT_EQ(keys_like("timerbench:durable:*:few:*:due").size(), 4U);
  }
  EXPECT_EQ(keys_like("*"), before);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(get(cluster, fmt::format("foreign:{}", i)), std::to_string(i));
  }
  const auto claims = other->claim(10, kLease).timers;
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].timer, timer);
}

std::string failure_of(const std::string& url) {
  const ScopedVariable variable(kRedisClusterUrlVariable, url);
  return error_of<BackendUnavailable>([] { contender_named("redis_cluster").start(""); });
}

TEST(RedisClusterUrl, WantsTheRightPassword) {
  const std::string wrong = failure_of(url_of(nodes()[0], ":guess"));
  expect_contains(wrong, {"WRONGPASS", kRedisClusterUrlVariable});
  EXPECT_EQ(wrong.find("guess"), wrong.npos) << wrong;
  expect_contains(failure_of(fmt::format("redis://{}:{}", nodes()[0].host, nodes()[0].port)),
                  {"NOAUTH", kRedisClusterUrlVariable});
}

TEST(RedisClusterUrl, NamesACluster) {
  const LoopbackPort port;
  const RedisEndpoint endpoint = endpoint_at(port, random_password());
  {
    const PrivateRedisServer single(endpoint, PrivateRedisServer::kKeepsNothing);
    expect_contains(
        failure_of(url_of(endpoint, ":" + endpoint.password)),
        {"cluster support disabled", "name a node of a cluster in", kRedisClusterUrlVariable});
  }
  expect_contains(failure_of(url_of(endpoint, ":" + endpoint.password)),
                  {"cannot connect", kRedisClusterUrlVariable});
  expect_contains(failure_of(url_of(nodes()[0], ":" + nodes()[0].password) + "/1"),
                  {"a cluster has no databases", kRedisClusterUrlVariable});
  expect_contains(failure_of("localhost"), {kRedisClusterUrlVariable, "neither redis://"});
}

// --- Private servers ---

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Listens at a port as servers do that want to restart at once.
bool can_listen(int port, bool reuses) {
  const Descriptor server(socket(AF_INET, SOCK_STREAM, 0), "socket");
  const int value = reuses;
  setsockopt(server.fd, SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bind(server.fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
         listen(server.fd, 1) == 0;
}

TEST(LoopbackPortTest, IsKeptForTheServer) {
  const LoopbackPort port;
  for (int times = 0; times < 2; ++times) {  // before a server listened there, and after
    EXPECT_FALSE(can_listen(port.number(), /*reuses=*/false));
    EXPECT_TRUE(can_listen(port.number(), /*reuses=*/true));
  }
}

TEST(PrivateRedisCluster, HidesItsPasswordAndListensOnLoopback) {
  for (std::size_t i = 0; i < TheCluster::get().nodes(); ++i) {
    PrivateRedisServer& node = TheCluster::get().node(i);
    const std::string arguments = read(fmt::format("/proc/{}/cmdline", node.process()));
    EXPECT_NE(arguments.find("redis-server"), arguments.npos) << arguments;
    EXPECT_EQ(arguments.find(node.endpoint().password), arguments.npos) << arguments;
    struct stat file;
    ASSERT_EQ(stat((node.folder() / "passwords.conf").c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 07777, 0600U);
    RedisConnection connection(node.endpoint());
    const auto bind = connection.call(REDIS_REPLY_ARRAY, {"CONFIG", "GET", "bind"});
    EXPECT_EQ(std::string(bind->element[1]->str), node.endpoint().host);
    EXPECT_EQ(node.endpoint().host.find("127.0.0."), 0U);
    RedisEndpoint stranger = node.endpoint();
    stranger.password.clear();
    expect_contains(error_of<BackendUnavailable>([&] { RedisConnection probe(stranger); }),
                    {"NOAUTH"});
  }
}

TEST(PrivateRedisCluster, EndsWhenTheProgramIsKilled) {
  std::array<int, 2> report;
  ASSERT_EQ(pipe(report.data()), 0);
  const pid_t program = fork();
  if (program == 0) {
    PrivateRedisCluster cluster;
    std::string text;
    for (std::size_t i = 0; i < cluster.nodes(); ++i) {
      text += fmt::format("{} {}\n", cluster.node(i).process(), cluster.node(i).folder().string());
    }
    if (write(report[1], text.data(), text.size()) < 0) std::abort();
    close(report[1]);
    pause();
    _exit(EXIT_SUCCESS);
  }
  close(report[1]);
  std::FILE* const in = fdopen(report[0], "r");
  std::vector<std::pair<pid_t, std::filesystem::path>> servers;
  pid_t process;
  std::array<char, 256> folder;
  while (std::fscanf(in, "%d %255s", &process, folder.data()) == 2) {
    servers.emplace_back(process, folder.data());
  }
  std::fclose(in);
  EXPECT_EQ(servers.size(), TheCluster::get().nodes());
  for (const auto& [server, path] : servers) EXPECT_TRUE(std::filesystem::exists(path));
  kill(program, SIGKILL);
  waitpid(program, nullptr, 0);
  EXPECT_TRUE(soon([&] {
    return std::ranges::none_of(servers, [](const auto& server) {
      // A zombie has no arguments.
      return std::filesystem::exists(server.second) ||
             !read(fmt::format("/proc/{}/cmdline", server.first)).empty();
    });
  }));
}

TEST(PrivateRedisCluster, HasAsManyMastersAsAreAskedFor) {
  PrivateRedisCluster cluster(1);
  EXPECT_EQ(cluster.masters().size(), 1U);
  EXPECT_EQ(cluster.processes().size(), 2U);
  RedisConnection connection(cluster.endpoints()[0]);
  connection.call(REDIS_REPLY_STATUS, {"SET", "any", "key"});
  for (const std::size_t masters : {0, 9}) {
    expect_contains(error_of<BackendError>([&] { PrivateRedisCluster{masters}; }),
                    {"masters; take 1 to 8"});
  }
}

TEST(PrivateRedisCluster, SaysThatNoMasterIsLeftToBeKilled) {
  PrivateRedisCluster cluster;
  for (std::size_t i = 0; i < cluster.nodes(); ++i) cluster.node(i).kill();
  expect_contains(error_of<BackendUnavailable>([&] { cluster.kill_master(); }),
                  {"no node that runs is a master"});
}

// --- A master and its replica ---

TEST(RedisPair, IsFollowedThroughFailovers) {
  PrivateRedisPair pair;
  RedisQueue queue(std::make_unique<RedisLink>(pair.endpoints(), 5s), {.queue = "pair"},
                   {.replicas = 1});
  for (DurableId id = 0; id < 6; ++id) {
    const DurableTimer timer{id, 0, "x"};
    queue.schedule({&timer, 1});
    if (id % 2 == 1) pair.fail_over();
    EXPECT_EQ(queue.size(), id + 1);
  }
}

TEST(RedisPair, IsFollowedWhenTheMasterIsMadeAReplica) {
  PrivateRedisPair pair;
  RedisQueue queue(std::make_unique<RedisLink>(pair.endpoints(), 5s), {.queue = "pair"},
                   {.replicas = 1});
  const DurableTimer first{1, 0, "x"}, second{2, 0, "x"};
  queue.schedule({&first, 1});
  const RedisEndpoint& before = pair.endpoints()[0];
  const RedisEndpoint& after = pair.endpoints()[1];
  RedisConnection(after).call(REDIS_REPLY_STATUS, {"REPLICAOF", "NO", "ONE"});
  RedisConnection(before).call(REDIS_REPLY_STATUS,
                               {"REPLICAOF", after.host, std::to_string(after.port)});
  queue.schedule({&second, 1});
  EXPECT_EQ(RedisConnection(after)
                .call(REDIS_REPLY_INTEGER, {"ZCARD", "timerbench:durable:{pair}:due"})
                ->integer,
            2);
}

TEST(RedisPair, IsFollowedWhenTheOldMasterIsSilent) {
  PrivateRedisPair pair;
  constexpr auto kPatience = 1500ms;
  RedisQueue queue(std::make_unique<RedisLink>(pair.endpoints(), kPatience),
                   {.queue = "pair", .patience = kPatience}, {});
  const DurableTimer timer{1, 0, "x"};
  queue.schedule({&timer, 1});
  kill(pair.processes()[0], SIGSTOP);
  pair.promote_replica();
  EXPECT_THROW(queue.schedule({&timer, 1}), BackendError);
  const auto begin = Clock::now();
  EXPECT_NO_THROW(queue.schedule({&timer, 1}));
  EXPECT_LT(Clock::now() - begin, kPatience);  // the silent one did not take all of it
  kill(pair.processes()[0], SIGCONT);
}

// Else a worker that completes before it handles would never handle what no replica had in time.
TEST(RedisPair, ACompletionThatTheReplicaHadTooLateIsToldByTheNextCall) {
  PrivateRedisPair pair;
  RedisQueue queue(std::make_unique<RedisLink>(pair.endpoints(), 4s),
                   {.queue = "pair", .patience = 4s}, {.replicas = 1});
  const DurableTimer timer{1, 0, "x"};
  queue.schedule({&timer, 1});
  const auto held = queue.claim(1, kLease).timers;
  kill(pair.processes()[1], SIGSTOP);
  EXPECT_THROW(queue.complete(held), BackendError);
  kill(pair.processes()[1], SIGCONT);
  EXPECT_EQ(queue.complete(held), std::vector<bool>{true});
  EXPECT_EQ(queue.complete(held), std::vector<bool>{false});
}

TEST(RedisPair, APostThatTheOldMasterRefusesIsToldByTheNextCall) {
  PrivateRedisPair pair;
  RedisQueue queue(std::make_unique<RedisLink>(pair.endpoints(), 5s), {.queue = "pair"},
                   {.awaits_posts = false});
  pair.promote_replica();
  pair.demote_old_master();
  const DurableTimer posted{1, 0, "x"}, next{2, 0, "x"};
  queue.post({&posted, 1});
  expect_contains(error_of<BackendError>([&] { queue.schedule({&next, 1}); }), {"READONLY"});
  EXPECT_NO_THROW(queue.schedule({&next, 1}));
}

TEST(RedisPair, PostsReachTheNewMasterOnceARefusalIsTold) {
  PrivateRedisPair pair;
  RedisQueue queue(std::make_unique<RedisLink>(pair.endpoints(), 5s), {.queue = "pair"},
                   {.awaits_posts = false});
  pair.promote_replica();
  pair.demote_old_master();
  constexpr DurableId kTimers = 1000;
  int told = 0;
  for (DurableId id = 0; id < kTimers; ++id) {
    const DurableTimer timer{id, 0, "x"};
    try {
      queue.post({&timer, 1});
    } catch (const BackendError&) {
      ++told;
    }
  }
  EXPECT_EQ(told, 1);
  EXPECT_GE(queue.size(), kTimers - 3 * RedisConnection::kDepth);
}

// The claims that only the old master knew are gone, so there is nothing to complete, nothing to write.
TEST(RedisPair, IsFollowedThoughNothingIsToBeWritten) {
  PrivateRedisPair pair;
  RedisQueue queue(std::make_unique<RedisLink>(pair.endpoints(), 5s), {.queue = "pair"},
                   {.replicas = 1});
  const DurableTimer timer{1, 0, "x"};
  queue.schedule({&timer, 1});
  pair.promote_replica();
  const auto claims = queue.claim(1, kLease).timers;
  ASSERT_EQ(claims.size(), 1U);
  pair.demote_old_master();
  EXPECT_EQ(queue.complete(claims), std::vector<bool>{false});
  EXPECT_EQ(queue.claim(1, kLease).timers.size(), 1U);
}

TEST(RedisPair, WithoutAReplicaAcknowledgesNothing) {
  const LoopbackPort port;
  const RedisEndpoint endpoint = endpoint_at(port, random_password());
  const PrivateRedisServer alone(endpoint, PrivateRedisServer::kReplicates);
  RedisQueue queue(std::make_unique<RedisLink>(endpoint, 1s), {.queue = "alone", .patience = 1s},
                   {.replicas = 1});
  const DurableTimer timer{1, 0, "x"};
  expect_contains(error_of([&] {
                    queue.schedule({&timer, 1});
                  }),
                  {"0 of 1 replicas have acknowledged"});
}

TEST(RedisPair, OfReplicasOnlyIsToldApart) {
  const LoopbackPort port;
  const RedisEndpoint endpoint = endpoint_at(port, random_password());
  const LoopbackPort unused;
  const RedisEndpoint nobody = endpoint_at(unused, "x");
  PrivateRedisServer::Settings settings = PrivateRedisServer::kReplicates;
  settings.insert(settings.end(), {"--replicaof", nobody.host, std::to_string(nobody.port)});
  const PrivateRedisServer replica(endpoint, settings);
  expect_contains(error_of<BackendUnavailable>([&] {
                    RedisLink link({endpoint, endpoint}, 1s);
                  }),
                  {"it is a replica"});
}

}  // namespace
}  // namespace timerbench
