// A private Redis master and its replica, which takes over when the master is killed, on 127.0.0.17
// and 127.0.0.18. Neither keeps anything on disk.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <vector>

#include "redis/loopback_port.h"
#include "redis/server.h"

namespace timerbench {

class PrivateRedisPair {
 public:
  // Returns when the replica has a copy. Throws BackendUnavailable.
  PrivateRedisPair();

  // Of both. They stay the same, so a RedisLink to them finds the master at any time.
  const std::vector<RedisEndpoint>& endpoints() const { return endpoints_; }
  std::vector<pid_t> processes() { return {servers_[0]->process(), servers_[1]->process()}; }

  // Kills the master as by kill -9, promotes the replica, and starts the killed one as its replica.
  // So there are never two masters, and none starts empty while the other waits to copy it. Returns
  // when the new replica has a copy. Throws BackendUnavailable.
  void fail_over();

  // Promotes the replica while the master goes on as one, as if neither could reach the other.
  void promote_replica();
  // Makes the old master a replica of the new one: what it alone has is gone. Returns when it has a
  // copy. Throws BackendError, as promote_replica() does.
  void demote_old_master();

 private:
  // Of the master, and returns when it has a copy.
  void start_replica();

  // Addresses of their own, so that a network can tell them from their clients.
  const std::array<LoopbackPort, 2> ports_{LoopbackPort("127.0.0.17"), LoopbackPort("127.0.0.18")};
  const std::vector<RedisEndpoint> endpoints_;
  std::array<std::unique_ptr<PrivateRedisServer>, 2> servers_;
  std::size_t master_ = 0;
};

}  // namespace timerbench
