// A private Redis Cluster of masters with a replica each, on 127.0.0.11 and the addresses after it.
// No node keeps timers on disk.
//
// The password keeps clients out, but the nodes talk to each other on ports of their own (the cluster
// bus), which know no password: another program of this machine that speaks the bus's protocol could
// disturb them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/loopback_port.h"
#include "redis/server.h"

namespace timerbench {

class PrivateRedisCluster {
 public:
  static constexpr std::size_t kMasters = 3;  // the fewest that can agree that one of them is dead
  static constexpr std::size_t kMostMasters = 8;

  // Returns when all nodes agree and each master has a replica with a copy, which takes 2 to 3 s: a
  // node waits for 2 s before it believes that the cluster is well. Throws BackendUnavailable; and
  // BackendError if there cannot be so many masters.
  explicit PrivateRedisCluster(std::size_t masters = kMasters);

  std::size_t nodes() const { return 2 * masters_; }
  // Of all nodes, the first masters first. They stay the same.
  const std::vector<RedisEndpoint>& endpoints() const { return endpoints_; }
  PrivateRedisServer& node(std::size_t i) { return *nodes_[i]; }
  std::vector<pid_t> processes();
  // Those that are masters now. REQUIRES: all nodes run.
  std::vector<RedisEndpoint> masters();

  // Kills a master as by kill -9, each time the next, and waits until the others have put its replica
  // in its place. Returns how long that took. Throws BackendUnavailable.
  std::chrono::milliseconds kill_master();
  // Starts the nodes that do not run. Returns when all agree, as above. Throws BackendUnavailable.
  void mend();

  // Moves each slot that holds keys to another master. REQUIRES: all nodes run.
  void move_slots();

 private:
  void introduce();
  bool is_master(std::size_t node);
  // Which master has which slots, as this node sees it; empty unless it finds that the cluster is
  // well, and that each slot has a master and a replica.
  std::string view_of(std::size_t node);
  template <class Condition>
  void await(std::string_view what, Condition&& condition);

  const std::size_t masters_;
  std::vector<RedisEndpoint> endpoints_;
  std::deque<LoopbackPort> ports_, bus_ports_;
  std::vector<std::unique_ptr<PrivateRedisServer>> nodes_;
  std::size_t next_victim_ = 0;
};

}  // namespace timerbench
