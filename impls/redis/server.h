// The redis-server that the Redis backends use: the user's, or a private one.
//
// A private server (engines/private_server.h) listens on a unix socket in its folder and on no TCP
// port. Servers that talk to each other need TCP: then it listens on an address of 127.0.0.0/8
// alone, from which it also sends, and a random password keeps others out. The password is in a
// file that only its owner may read, in the folder.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "engines/private_server.h"
#include "redis/connection.h"
#include "redis/loopback_port.h"

namespace timerbench {

class PrivateRedisServer {
 public:
  using Settings = std::vector<std::string>;  // arguments of redis-server

  inline static const Settings kKeepsNothing{"--save", "", "--appendonly", "no"};

  // Nothing on disk, and copies itself to a replica as soon as one asks.
  inline static const Settings kReplicates{
      "--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"};

  // Starts redis-server, from PATH, and waits until it answers. Throws BackendUnavailable.
  explicit PrivateRedisServer(std::chrono::milliseconds patience = kRedisPatience,
                              Settings settings = kKeepsNothing);

  // On 127.0.0.1, or another address of the machine alone. Throws BackendUnavailable, also if
  // another program has taken the port.
  explicit PrivateRedisServer(RedisEndpoint loopback, Settings settings,
                              std::chrono::milliseconds patience = kRedisPatience);

  const RedisEndpoint& endpoint() const { return endpoint_; }
  const std::filesystem::path& folder() const { return server_.folder(); }
  std::filesystem::path socket() const { return server_.socket(); }
  bool running() { return process() > 0; }
  pid_t process() { return server_.process(); }

  void kill() { server_.kill(); }
  // Kills it, if it runs, and starts it again with what is in its folder. Returns when it answers.
  // Throws BackendUnavailable.
  void restart() { server_.restart(); }

 private:
  PrivateServer server_;
  const RedisEndpoint endpoint_;
};

// Returns when a replica of this master has a copy. Throws BackendUnavailable.
void await_redis_replica(const RedisEndpoint& master);

// For a server that is started there with this password.
RedisEndpoint endpoint_at(const LoopbackPort& port, std::string password);

// 128 random bits, in hexadecimal digits.
std::string random_password();

// The server that TIMERBENCH_REDIS_URL names; without the variable, the private server of this
// process, which is started on first use and replaced if it has ended. Throws BackendUnavailable.
RedisEndpoint redis_endpoint();

}  // namespace timerbench
