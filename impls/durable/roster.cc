#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "durable/engine.h"
#include "durable/journal_queue.h"
#include "durable/redis_queue.h"
#include "redis/cluster.h"
#include "redis/link.h"
#include "redis/names.h"
#include "redis/private_cluster.h"
#include "redis/private_pair.h"
#include "redis/server.h"
#ifdef TIMERBENCH_DURABLE
#include "durable/beanstalk_queue.h"
#include "durable/beanstalk_server.h"
#include "durable/postgres_queue.h"
#include "durable/postgres_server.h"
#include "durable/sqlite_queue.h"
#include "durable/tokens.h"
#endif

namespace timerbench {
namespace {

using std::chrono_literals::operator""ms;
using Folder = std::filesystem::path;

class JournalEngine final : public DurableEngine {
 public:
  JournalEngine(Folder folder, std::chrono::milliseconds gather)
      : folder_(std::move(folder)), gather_(gather) {}

  std::vector<Folder> folders() const override { return {folder_}; }

 private:
  // All clients of a queue in this process share its store; the last one closes the file.
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<JournalQueue::Store>& known = stores_[config.queue];
    std::shared_ptr<JournalQueue::Store> store = known.lock();
    if (!store) {
      store = std::make_shared<JournalQueue::Store>(folder_ / (config.queue + ".journal"), gather_,
                                                    JournalQueue::kGranularity, config.now());
      known = store;
    }
    return std::make_unique<JournalQueue>(std::move(store), config);
  }

  const Folder folder_;
  const std::chrono::milliseconds gather_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<JournalQueue::Store>> stores_;
};

DurableContender journal(std::string_view name, std::chrono::milliseconds gather) {
  return {.traits = {.name = name,
                     .summary = "an append-only file with group commit, and a log wheel in memory",
                     .engine = "none",
                     .promise = {.when_killed = Kept::all,
                                 .when_power_fails = Kept::all,
                                 .when_disk_fails = Kept::none},
                     .shared_by = SharedBy::threads,
                     .resolution = JournalQueue::kGranularity,
                     .file = JournalQueue::kFile},
          .start = [gather](const Folder& folder) {
            return std::make_unique<JournalEngine>(folder, gather);
          }};
}

class RedisEngine final : public DurableEngine {
 public:
  explicit RedisEngine(PrivateRedisServer::Settings settings)
      : server_(kRedisPatience, std::move(settings)) {}

  void restart() override {
    server_.kill();
    server_.restart();
  }
  std::vector<Folder> folders() const override { return {server_.folder()}; }
  std::vector<pid_t> processes() override { return {server_.process()}; }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    return std::make_unique<RedisQueue>(
        std::make_unique<RedisLink>(server_.endpoint(), config.patience), config,
        RedisQueue::Settings{});
  }

  PrivateRedisServer server_;
};

class RedisPairEngine final : public DurableEngine {
 public:
  void restart() override { pair_.fail_over(); }
  std::vector<pid_t> processes() override { return pair_.processes(); }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    return std::make_unique<RedisQueue>(
        std::make_unique<RedisLink>(pair_.endpoints(), config.patience), config,
        RedisQueue::Settings{.replicas = 1});
  }

  PrivateRedisPair pair_;
};

DurableContender redis(std::string_view name, std::string_view summary, DurablePromise promise,
                       PrivateRedisServer::Settings settings) {
  return {.traits = {.name = name,
                     .summary = summary,
                     .engine = "redis-server",
                     .promise = promise,
                     .shared_by = SharedBy::machines,
                     .resolution = 1000,
                     .file = RedisQueue::kFile},
          .start = [settings](const Folder&) { return std::make_unique<RedisEngine>(settings); }};
}

// A private cluster, or the user's, of which no node is killed.
class RedisClusterEngine final : public DurableEngine {
 public:
  explicit RedisClusterEngine(int replicas) : replicas_(replicas) {
    if (const char* url = std::getenv(kRedisClusterUrlVariable); url != nullptr && *url != '\0') {
      nodes_.push_back(RedisEndpoint::parse(url, kRedisClusterUrlVariable));
      RedisCluster probe(nodes_);
    } else {
      own_.emplace();
      nodes_ = own_->endpoints();
    }
  }

  ~RedisClusterEngine() override {
    if (own_ || getpid() != owner_) return;
    try {
      remove_keys();
    } catch (...) {  // a destructor cannot report it
    }
  }

  void restart() override {
    if (!own_) return;
    own_->kill_master();
    own_->mend();
  }
  bool is_restartable() const override { return own_.has_value(); }
  std::vector<pid_t> processes() override {
    return own_ ? own_->processes() : std::vector<pid_t>();
  }

 private:
  static constexpr std::size_t kShards = 16;

  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    DurableConfig unique = config;
    unique.queue = prefix_ + config.queue;
    return std::make_unique<RedisQueue>(
        std::make_unique<RedisCluster>(nodes_, config.patience), unique,
        RedisQueue::Settings{.shards = kShards, .replicas = replicas_});
  }

  void remove_keys() {
    const std::string pattern = RedisQueue::keys_of(prefix_);
    RedisCluster(nodes_).with_each_master(
        {.give_up = std::chrono::steady_clock::now() + kRedisPatience},
        [&](RedisConnection& connection) {
          std::string cursor = "0";
          do {
            const auto reply = connection.call(REDIS_REPLY_ARRAY,
                                               {"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"});
            cursor = reply->element[0]->str;
            for (std::size_t i = 0; i < reply->element[1]->elements; ++i) {
              const redisReply& key = *reply->element[1]->element[i];
              connection.call(REDIS_REPLY_INTEGER, {"UNLINK", std::string_view(key.str, key.len)});
            }
          } while (cursor != "0");
        });
  }

  const int replicas_;
  const pid_t owner_ = getpid();
  // Other programs may have queues of the same names in the user's cluster.
  const std::string prefix_ = unique_redis_name() + ":";
  std::optional<PrivateRedisCluster> own_;
  std::vector<RedisEndpoint> nodes_;
};

DurableContender redis_cluster(std::string_view name, std::string_view summary, int replicas) {
  return {.traits = {.name = name,
                     .summary = summary,
                     .engine = "redis-server",
                     .promise = {.when_killed = Kept::but_the_latest,
                                 .when_power_fails = Kept::none,
                                 .when_disk_fails = Kept::but_the_latest},
                     .shared_by = SharedBy::machines,
                     .resolution = 1000,
                     .file = RedisQueue::kFile},
          .start = [replicas](const Folder&) {
            return std::make_unique<RedisClusterEngine>(replicas);
          }};
}

#ifdef TIMERBENCH_DURABLE
class SqliteEngine final : public DurableEngine {
 public:
  SqliteEngine(Folder folder, SqliteQueue::Synchronous synchronous)
      : file_(folder / "timers.sqlite"), synchronous_(synchronous) {}

  std::vector<Folder> folders() const override { return {file_.parent_path()}; }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    return std::make_unique<SqliteQueue>(file_, config, synchronous_);
  }

  const Folder file_;
  const SqliteQueue::Synchronous synchronous_;
};

DurableContender sqlite(std::string_view name, std::string_view summary, Kept when_power_fails,
                        SqliteQueue::Synchronous synchronous) {
  return {.traits = {.name = name,
                     .summary = summary,
                     .engine = "libsqlite3-0",
                     .promise = {.when_killed = Kept::all,
                                 .when_power_fails = when_power_fails,
                                 .when_disk_fails = Kept::none},
                     .shared_by = SharedBy::processes,
                     .file = SqliteQueue::kFile},
          .start = [synchronous](const Folder& folder) {
            return std::make_unique<SqliteEngine>(folder, synchronous);
          }};
}

// In a database of the user's, its tables have names that no other engine has, and are dropped when
// it ends.
class PostgresEngine final : public DurableEngine {
 public:
  explicit PostgresEngine(bool synchronous_commit) : synchronous_commit_(synchronous_commit) {
    if (const char* url = std::getenv(kPostgresUrlVariable); url != nullptr && *url != '\0') {
      where_ = url;
      // With the longest name of a queue, and with the name of an index, as long as may be.
      prefix_ = fmt::format("r{:07x}_", Tokens().next() & 0xfff'ffff);
    } else {
      server_.emplace();
      where_ = server_->where();
    }
  }
  ~PostgresEngine() override {
    if (server_ || getpid() != owner_) return;
    try {
      PostgresQueue::drop_tables(where_, prefix_, DurableConfig().patience);
    } catch (const BackendError&) {  // a destructor cannot report it
    }
  }

  void restart() override {
    if (server_) server_->restart();
  }
  bool is_restartable() const override { return server_.has_value(); }
  std::vector<Folder> folders() const override {
    return server_ ? std::vector{server_->folder()} : std::vector<Folder>();
  }
  std::vector<pid_t> processes() override {
    return server_ ? std::vector{server_->process()} : std::vector<pid_t>();
  }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    DurableConfig own = config;
    own.queue = prefix_ + config.queue;
    return std::make_unique<PostgresQueue>(where_, own, synchronous_commit_);
  }

  const bool synchronous_commit_;
  const pid_t owner_ = getpid();
  std::optional<PrivatePostgresServer> server_;  // none: the user's
  std::string where_;
  std::string prefix_;
};

DurableContender postgres(std::string_view name, std::string_view summary, Kept after_a_crash,
                          bool synchronous_commit) {
  return {.traits = {.name = name,
                     .summary = summary,
                     .engine = "postgresql",
                     .promise = {.when_killed = after_a_crash,
                                 .when_power_fails = after_a_crash,
                                 .when_disk_fails = Kept::none},
                     .shared_by = SharedBy::machines,
                     .file = PostgresQueue::kFile},
          .start = [synchronous_commit](const Folder&) {
            return std::make_unique<PostgresEngine>(synchronous_commit);
          }};
}

// On a server of the user's, its tubes have names that no other engine has, and are empty when it
// ends.
class BeanstalkEngine final : public DurableEngine {
 public:
  explicit BeanstalkEngine(int fsync_ms) {
    if (const char* url = std::getenv(kBeanstalkUrlVariable); url != nullptr && *url != '\0') {
      endpoint_ = BeanstalkEndpoint::parse(url);
      prefix_ += fmt::format("{:x}.", Tokens().next());
    } else {
      server_.emplace(fsync_ms);
      endpoint_ = server_->endpoint();
    }
  }
  ~BeanstalkEngine() override {
    if (server_) return;
    try {
      BeanstalkQueue::delete_tubes(endpoint_, prefix_, DurableConfig().patience);
    } catch (const BackendError&) {
      // It has ended, and with it all that can be done.
    }
  }

  void restart() override {
    if (!server_) return;
    server_->kill();
    server_->start();
  }
  bool is_restartable() const override { return server_.has_value(); }
  std::vector<Folder> folders() const override {
    return server_ ? std::vector{server_->folder()} : std::vector<Folder>();
  }
  std::vector<pid_t> processes() override {
    return server_ ? std::vector{server_->process()} : std::vector<pid_t>();
  }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    return std::make_unique<BeanstalkQueue>(endpoint_, prefix_ + config.queue, config);
  }

  std::optional<PrivateBeanstalkServer> server_;  // none: the user's
  BeanstalkEndpoint endpoint_;
  std::string prefix_ = "timerbench.durable.";
};

DurableContender beanstalk(std::string_view name, std::string_view summary, Kept when_power_fails,
                           int fsync_ms) {
  return {
      .traits = {.name = name,
                 .summary = summary,
                 .engine = "beanstalkd",
                 .promise = {.when_killed = Kept::all,
                             .when_power_fails = when_power_fails,
                             .when_disk_fails = Kept::none},
                 .shared_by = SharedBy::machines,
                 .resolution = BeanstalkQueue::kResolution,
                 .takes_from_holders = false,
                 .only_own_timers = true,
                 .silence_keeps_leases = true,
                 .lease_when_armed = true,
                 .own_clock = true,
                 .file = BeanstalkQueue::kFile},
      .start = [fsync_ms](const Folder&) { return std::make_unique<BeanstalkEngine>(fsync_ms); }};
}
#endif

}  // namespace

std::unique_ptr<DurableQueue> DurableEngine::open(const DurableConfig& config) {
  const auto is_allowed = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
  };
  if (config.queue.empty() || config.queue.size() > 40 || config.queue[0] < 'a' ||
      !std::ranges::all_of(config.queue, is_allowed)) {
    throw std::invalid_argument(
        fmt::format("\"{}\" cannot name a queue; take 1 to 40 of a-z, 0-9 and _, a letter first",
                    config.queue));
  }
  return do_open(config);
}

std::span<const DurableContender> durable_roster() {
  static const DurableContender all[] = {
      journal("journal_wheel_0", 0ms),
      journal("journal_wheel_1", 1ms),
      journal("journal_wheel_10", 10ms),
#ifdef TIMERBENCH_DURABLE
      sqlite("sqlite_full", "a table of SQLite, synchronised at each commit", Kept::all,
             SqliteQueue::Synchronous::full),
      sqlite("sqlite_normal", "a table of SQLite, synchronised now and then", Kept::but_the_latest,
             SqliteQueue::Synchronous::normal),
      postgres("postgres_on", "a table of PostgreSQL, synchronised at each commit", Kept::all,
               true),
      postgres("postgres_off", "a table of PostgreSQL, synchronised three times a second",
               Kept::but_the_latest, false),
      beanstalk("beanstalkd_f0", "a tube of beanstalkd, synchronised at each change", Kept::all, 0),
      beanstalk("beanstalkd_f50", "a tube of beanstalkd, synchronised at most once in 50 ms",
                Kept::but_the_latest, 50),
#endif
      redis("redis_memory", "a sorted set of Redis that keeps nothing on disk",
            {.when_killed = Kept::none,
             .when_power_fails = Kept::none,
             .when_disk_fails = Kept::none},
            {"--save", "", "--appendonly", "no"}),
      redis("redis_everysec", "a sorted set of Redis, written to a file once a second",
            {.when_killed = Kept::but_the_latest,
             .when_power_fails = Kept::but_the_latest,
             .when_disk_fails = Kept::none},
            {"--save", "", "--appendonly", "yes", "--appendfsync", "everysec"}),
      redis(
          "redis_always", "a sorted set of Redis, synchronised before each answer",
          {.when_killed = Kept::all, .when_power_fails = Kept::all, .when_disk_fails = Kept::none},
          {"--save", "", "--appendonly", "yes", "--appendfsync", "always"}),
      {.traits = {.name = "redis_replica",
                  .summary = "a sorted set of Redis in the memory of two servers (WAIT 1)",
                  .engine = "redis-server",
                  .promise = {.when_killed = Kept::all,
                              .when_power_fails = Kept::none,
                              .when_disk_fails = Kept::all},
                  .shared_by = SharedBy::machines,
                  .resolution = 1000,
                  .file = RedisQueue::kFile},
       .start = [](const Folder&) { return std::make_unique<RedisPairEngine>(); }},
      redis_cluster("redis_cluster", "sorted sets of Redis Cluster, 3 masters and 3 replicas", 0),
      redis_cluster("redis_cluster_wait", "redis_cluster, each change on a replica too (WAIT 1)",
                    1),
  };
  return all;
}

}  // namespace timerbench
