// A slot of a Redis Cluster on its way from one master to another.
//
// From the begin on, the source answers ASK for keys that have moved or do not exist, and the target
// takes those. Clients notice nothing else (redis/cluster.h).
//
// Follows: the Redis Cluster specification, and redis-cli --cluster reshard.
#pragma once

#include <string>
#include <vector>

#include "redis/connection.h"

namespace timerbench {

class SlotMove {
 public:
  // Begins it. Throws BackendError, as all of its calls do.
  SlotMove(int slot, const RedisEndpoint& source, const RedisEndpoint& target);

  void move(const std::vector<std::string>& keys);
  // All keys that are left, and then the slot.
  void finish();

  RedisConnection& source() { return source_; }
  RedisConnection& target() { return target_; }

 private:
  std::vector<std::string> left();

  const std::string slot_;
  const RedisEndpoint to_;
  RedisConnection source_, target_;
};

// The name of a node.
std::string redis_node_id(RedisConnection& node);

}  // namespace timerbench
