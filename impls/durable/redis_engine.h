// Engines of Redis: a private server, a master with a replica, and a cluster.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "durable/engine.h"
#include "durable/redis_queue.h"
#include "durable/redis_switches.h"
#include "durable/server_engine.h"
#include "engines/clean_up.h"
#include "engines/users_url.h"
#include "redis/cluster.h"
#include "redis/link.h"
#include "redis/names.h"
#include "redis/private_cluster.h"
#include "redis/private_pair.h"
#include "redis/router.h"
#include "redis/server.h"

namespace timerbench {

inline std::vector<std::string> hosts_of(const std::vector<RedisEndpoint>& endpoints) {
  std::vector<std::string> hosts;
  for (const RedisEndpoint& endpoint : endpoints) hosts.push_back(endpoint.host);
  return hosts;
}

// Queues on a server of the user's, where other programs may have queues of the same names.
class OwnRedisQueues {
 public:
  // With a name that no other engine has.
  DurableConfig named(DurableConfig config) const {
    config.queue = prefix_ + config.queue;
    return config;
  }

  // Calls `with_each`, which passes on a connection to the server, or to each master of a cluster, and
  // removes what is there.
  void clean_up(const std::function<void(const RedisRouter::Use&)>& with_each) const {
    clean_up_.run([&] { with_each([this](RedisConnection& connection) { remove(connection); }); },
                  fmt::format("its keys {}", pattern_),
                  fmt::format("run on the server, or on each master of the cluster: redis-cli "
                              "--scan --pattern '{}' | xargs -n 1 redis-cli unlink",
                              pattern_));
  }

 private:
  void remove(RedisConnection& connection) const {
    std::string cursor = "0";
    do {
      const auto reply =
          connection.call(REDIS_REPLY_ARRAY, {"SCAN", cursor, "MATCH", pattern_, "COUNT", "1000"});
      cursor = reply->element[0]->str;
      for (std::size_t i = 0; i < reply->element[1]->elements; ++i) {
        const redisReply& key = *reply->element[1]->element[i];
        connection.call(REDIS_REPLY_INTEGER, {"UNLINK", std::string_view(key.str, key.len)});
      }
    } while (cursor != "0");
  }

  const CleanUp clean_up_{};
  const std::string prefix_ = unique_redis_name() + ":";
  const std::string pattern_ = RedisQueue::keys_of(prefix_);
};

class RedisEngine : public ServerEngine<PrivateRedisServer> {
 public:
  explicit RedisEngine(PrivateRedisServer::Settings settings) {
    server_.emplace(kRedisPatience, std::move(settings));
    endpoint_ = server_->endpoint();
    switches_.emplace(std::vector{endpoint_});
  }
  // A server of the user's, which keeps on disk what it was told to keep.
  explicit RedisEngine(RedisEndpoint users) : endpoint_(std::move(users)) {
    own_.emplace();
    switches_.emplace(std::vector{endpoint_});
    RedisConnection probe(endpoint_);
  }

  ~RedisEngine() override {
    if (!own_) return;
    own_->clean_up([&](const RedisRouter::Use& remove) {
      RedisConnection connection(endpoint_);
      remove(connection);
    });
  }

  std::vector<EngineSwitch> switches() override {
    return {switches_->memory_full(), switches_->read_only_as_replica(),
            switches_->login_refused()};
  }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    return std::make_unique<RedisQueue>(std::make_unique<RedisLink>(endpoint_, config.patience),
                                        own_ ? own_->named(config) : config,
                                        RedisQueue::Settings{.awaits_posts = false});
  }

  RedisEndpoint endpoint_;
  std::optional<OwnRedisQueues> own_;  // none on a private server
  std::optional<RedisSwitches> switches_;
};

// On the user's server, whatever the settings are, if a variable names one.
inline DurableContender redis(std::string_view name, std::string_view summary,
                              DurablePromise promise, PrivateRedisServer::Settings settings) {
  return {.traits = {.name = name,
                     .summary = summary,
                     .engine = "redis-server",
                     .promise = promise,
                     .shared_by = SharedBy::machines,
                     .resolution = 1000,
                     .file = RedisQueue::kFile},
          .start =
              [settings](const std::filesystem::path&) {
                const char* const url = users_url(kRedisUrlVariable);
                return url != nullptr ? std::make_unique<RedisEngine>(RedisEndpoint::parse(url))
                                      : std::make_unique<RedisEngine>(settings);
              },
          .users_variable = kRedisUrlVariable};
}

// Always private: which of a user's servers may be killed, and which promoted, only the user knows.
class RedisPairEngine final : public DurableEngine {
 public:
  void restart() override { pair_.fail_over(); }
  std::vector<pid_t> processes() override { return pair_.processes(); }
  std::vector<EngineSwitch> switches() override {
    return {
        {"partition", [this] { pair_.promote_replica(); }, [this] { pair_.demote_old_master(); }},
        switches_.memory_full(),
        switches_.read_only_as_master(),
        switches_.login_refused()};
  }
  std::vector<std::string> nodes() override { return hosts_of(pair_.endpoints()); }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    return std::make_unique<RedisQueue>(
        std::make_unique<RedisLink>(pair_.endpoints(), config.patience), config,
        RedisQueue::Settings{.replicas = 1, .awaits_posts = false});
  }

  PrivateRedisPair pair_;
  RedisSwitches switches_{pair_.endpoints()};
};

inline DurableContender redis_replica(std::string_view name, std::string_view summary) {
  return {
      .traits = {.name = name,
                 .summary = summary,
                 .engine = "redis-server",
                 .promise = {.when_killed = Kept::all,
                             .when_power_fails = Kept::none,
                             .when_disk_fails = Kept::all},
                 .shared_by = SharedBy::machines,
                 .resolution = 1000,
                 .file = RedisQueue::kFile},
      .start = [](const std::filesystem::path&) { return std::make_unique<RedisPairEngine>(); }};
}

// A private cluster, or the user's, of which no node is killed.
class RedisClusterEngine final : public DurableEngine {
 public:
  // `masters`: of a private cluster.
  RedisClusterEngine(int replicas, std::size_t masters) : replicas_(replicas) {
    if (const char* url = users_url(kRedisClusterUrlVariable)) {
      nodes_.push_back(RedisEndpoint::parse(url, kRedisClusterUrlVariable));
      RedisCluster probe(nodes_);
    } else {
      private_.emplace(masters);
      nodes_ = private_->endpoints();
    }
    switches_.emplace(nodes_);
  }

  ~RedisClusterEngine() override {
    if (private_) return;
    own_.clean_up([&](const RedisRouter::Use& remove) {
      RedisCluster(nodes_).with_each_master(kRedisPatience, remove);
    });
  }

  void restart() override {
    if (!private_) return;
    private_->kill_master();
    private_->mend();
  }
  bool is_restartable() const override { return private_.has_value(); }
  std::vector<pid_t> processes() override {
    return private_ ? private_->processes() : std::vector<pid_t>();
  }
  std::vector<EngineSwitch> switches() override {
    return {{"slots_moved", [this] { private_->move_slots(); }, [] {}},
            switches_->memory_full(),
            switches_->read_only_as_master(),
            switches_->login_refused()};
  }
  std::vector<std::string> nodes() override {
    return private_ ? hosts_of(private_->endpoints()) : std::vector<std::string>();
  }
  std::vector<std::string> masters() override {
    if (!private_) return {};
    private_->mend();
    return hosts_of(private_->masters());
  }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    return std::make_unique<RedisQueue>(
        std::make_unique<RedisCluster>(nodes_, config.patience), own_.named(config),
        RedisQueue::Settings{.shards = config.shards, .replicas = replicas_});
  }

  const int replicas_;
  const OwnRedisQueues own_;
  std::optional<PrivateRedisCluster> private_;
  std::vector<RedisEndpoint> nodes_;
  std::optional<RedisSwitches> switches_;
};

inline DurableContender redis_cluster(std::string_view name, std::string_view summary, int replicas,
                                      std::size_t masters = PrivateRedisCluster::kMasters) {
  return {.traits = {.name = name,
                     .summary = summary,
                     .engine = "redis-server",
                     .promise = {.when_killed = Kept::but_the_latest,
                                 .when_power_fails = Kept::none,
                                 .when_disk_fails = Kept::but_the_latest,
                                 .when_silent = Kept::but_the_latest},
                     .shared_by = SharedBy::machines,
                     .resolution = 1000,
                     .file = RedisQueue::kFile},
          .start =
              [replicas, masters](const std::filesystem::path&) {
                return std::make_unique<RedisClusterEngine>(replicas, masters);
              },
          .with_masters =
              [=](std::size_t count) { return redis_cluster(name, summary, replicas, count); },
          .users_variable = kRedisClusterUrlVariable};
}

}  // namespace timerbench
