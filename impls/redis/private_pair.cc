#include "redis/private_pair.h"

#include <string>

namespace timerbench {

PrivateRedisPair::PrivateRedisPair()
    : endpoints_([this, password = random_password()] {
        return std::vector{endpoint_at(ports_[0], password), endpoint_at(ports_[1], password)};
      }()) {
  servers_[master_] =
      std::make_unique<PrivateRedisServer>(endpoints_[master_], PrivateRedisServer::kReplicates);
  start_replica();
}

void PrivateRedisPair::fail_over() {
  servers_[master_]->kill();
  promote_replica();
  master_ = 1 - master_;
  start_replica();
}

void PrivateRedisPair::promote_replica() {
  RedisConnection(endpoints_[1 - master_]).call(REDIS_REPLY_STATUS, {"REPLICAOF", "NO", "ONE"});
}

void PrivateRedisPair::demote_old_master() {
  master_ = 1 - master_;
  const RedisEndpoint& master = endpoints_[master_];
  RedisConnection(endpoints_[1 - master_])
      .call(REDIS_REPLY_STATUS, {"REPLICAOF", master.host, std::to_string(master.port)});
  await_redis_replica(master);
}

// Anew, because a server that restarts must be a replica from its first moment.
void PrivateRedisPair::start_replica() {
  const RedisEndpoint& master = endpoints_[master_];
  PrivateRedisServer::Settings settings = PrivateRedisServer::kReplicates;
  settings.insert(settings.end(), {"--replicaof", master.host, std::to_string(master.port)});
  auto& replica = servers_[1 - master_];
  replica.reset();  // frees the port
  replica = std::make_unique<PrivateRedisServer>(endpoints_[1 - master_], settings);
  await_redis_replica(master);
}

}  // namespace timerbench
