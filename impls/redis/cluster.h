// A client of Redis Cluster, over hiredis, which has none.
//
// The keys of a cluster are in 16 384 slots, and each slot has a master. The client has a map of them
// (CLUSTER SLOTS), which it draws anew when it turns out to be wrong:
//
//   MOVED               the slot has another master: ask that one, and draw the map by it
//   ASK                 the slot is on its way, and the key has moved: ask that node, this once
//   TRYAGAIN, CLUSTERDOWN, LOADING, MASTERDOWN, or the node cannot be reached
//                       draw the map by another node; if it says nothing new, wait and repeat as
//                       long as 0.2 s are left for an answer
//
// All of these say that nothing has been done. An answer that was lost may have been to a command
// that was carried out; so that error is the caller's.
//
// Cost: 1 round trip a command, and a connection to each node that is needed.
//
// Follows: the Redis Cluster specification.
// Deviates: it does not read from replicas.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "redis/router.h"

namespace timerbench {

// The environment variable that names a node of the cluster to use.
inline constexpr const char* kRedisClusterUrlVariable = "TIMERBENCH_REDIS_CLUSTER_URL";

inline constexpr std::size_t kRedisSlots = 16384;

// The slot of a key: that of the text between its first { and the next }, if there is some.
std::size_t redis_slot(std::string_view key);

class RedisCluster final : public RedisRouter {
 public:
  // One of the seeds must answer; it tells of the other nodes. All take the user and the password of
  // the first. Throws BackendUnavailable. REQUIRES: there is a seed.
  explicit RedisCluster(const std::vector<RedisEndpoint>& seeds,
                        std::chrono::milliseconds patience = kRedisPatience);

  void with(std::string_view key, const Limits& limits, const Use& use) override;

  std::unique_ptr<RedisRouter> another() const override {
    return std::unique_ptr<RedisRouter>(new RedisCluster(*this));
  }

  // Calls `use` with each master that has slots, as far as is known. Each answer must come within
  // the patience. Throws BackendError if no node tells who they are. If a master fails, goes on with
  // the others, and then throws the first BackendError.
  void with_each_master(std::chrono::milliseconds patience, const Use& use);

 private:
  // With the same map, and without connections.
  RedisCluster(const RedisCluster& other);

  struct Node {
    RedisEndpoint endpoint;
    std::unique_ptr<RedisConnection> connection{};  // made when it is needed
  };
  struct Target {
    Node* node;  // nullptr: there is none
    bool asking;
    bool operator==(const Target&) const = default;
  };

  Node& node_at(std::string_view host, int port);
  RedisConnection& connect(Node& node, std::chrono::milliseconds patience);
  Target redirected(const RedisReplyError& error, const Node& from);
  // Draws the map by this node. Throws BackendError.
  void draw_map(Node& by, const Limits& limits);
  // By any node that answers. Throws what the last one threw if there is none.
  void draw_map(const Limits& limits);

  const RedisEndpoint login_;                 // user, password
  std::map<std::string, Node> nodes_;         // by URL
  std::array<Node*, kRedisSlots> masters_{};  // nullptr: nobody has the slot
  std::size_t asked_ = 0;                     // for the map, so that each node has its turn
};

}  // namespace timerbench
