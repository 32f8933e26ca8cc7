#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "durable/engine.h"
#include "durable/journal_engine.h"
#include "durable/redis_engine.h"
#ifdef TIMERBENCH_DURABLE
#include "durable/beanstalk_engine.h"
#include "durable/bullmq_engine.h"
#include "durable/etcd_engine.h"
#include "durable/postgres_engine.h"
#include "durable/sqlite_engine.h"
#endif

namespace timerbench {

using std::chrono_literals::operator""ms;

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
      bullmq("bullmq", "delayed jobs of BullMQ on Redis, written to a file once a second"),
      etcd("etcd_leases", "keys of etcd whose leases end, synchronised at each change"),
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
      redis_replica("redis_replica", "a sorted set of Redis in the memory of two servers (WAIT 1)"),
      redis_cluster("redis_cluster", "sorted sets of Redis Cluster, 3 masters and 3 replicas", 0),
      redis_cluster("redis_cluster_wait", "redis_cluster, each change on a replica too (WAIT 1)",
                    1),
  };
  return all;
}

}  // namespace timerbench
