// The redis-server that the Redis backends use: the user's, or a private one.
//
// A private server (engines/private_server.h) listens on a unix socket in its folder and on no TCP
// port.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "engines/private_server.h"
#include "redis/connection.h"

namespace timerbench {

class PrivateRedisServer {
 public:
  using Settings = std::vector<std::string>;  // arguments of redis-server

  inline static const Settings kKeepsNothing{"--save", "", "--appendonly", "no"};

  // Starts redis-server, from PATH, and waits until it answers. Throws BackendUnavailable.
  explicit PrivateRedisServer(std::chrono::milliseconds patience = kRedisPatience,
                              Settings settings = kKeepsNothing);

  RedisEndpoint endpoint() const;
  const std::filesystem::path& folder() const { return server_.folder(); }
  bool running() { return process() > 0; }
  pid_t process() { return server_.process(); }

  void kill() { server_.kill(); }
  // Starts it again with what is in its folder, and waits until it answers. Throws
  // BackendUnavailable.
  void restart();

 private:
  void await_answer();

  const std::chrono::milliseconds patience_;
  PrivateServer server_;
};

// The server that TIMERBENCH_REDIS_URL names; without the variable, the private server of this
// process, which is started on first use and replaced if it has ended. Throws BackendUnavailable.
RedisEndpoint redis_endpoint();

}  // namespace timerbench
