// States of Redis servers in which they refuse some work: a server, or all those of a pair or a
// cluster at once.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "durable/engine.h"
#include "redis/connection.h"
#include "redis/server.h"

namespace timerbench {

class RedisSwitches {
 public:
  explicit RedisSwitches(std::vector<RedisEndpoint> servers) : servers_(std::move(servers)) {}

  EngineSwitch memory_full() { return setting("memory_full", "maxmemory", "1", "0"); }

  // Makes it a replica of a server that does not exist.
  EngineSwitch read_only_as_replica() {
    return {"read_only",
            [this] {
              tell({"REPLICAOF", "127.0.0.1", "1"});
            },
            [this] {
              tell({"REPLICAOF", "NO", "ONE"});
            }};
  }

  // As a master that has lost too many of its replicas.
  EngineSwitch read_only_as_master() {
    return setting("read_only", "min-replicas-to-write", "99", "0");
  }

  EngineSwitch login_refused() {
    return {"login_refused", [this] { refuse_logins(); }, [this] { take_logins(); }};
  }

 private:
  void tell(RedisConnection::Command command) {
    for (const RedisEndpoint& server : servers_) {
      RedisConnection(server).call(REDIS_REPLY_STATUS, command);
    }
  }

  EngineSwitch setting(std::string_view name, std::string_view parameter, std::string_view on,
                       std::string_view off) {
    const auto set = [this, parameter](std::string_view value) {
      tell({"CONFIG", "SET", parameter, value});
    };
    return {name, [set, on] { set(on); }, [set, off] { set(off); }};
  }

  // Its own connections know no password that is valid, but stay.
  void refuse_logins() {
    for (const RedisEndpoint& server : servers_) {
      RedisConnection& insider = *insiders_.emplace_back(std::make_unique<RedisConnection>(server));
      insider.call(REDIS_REPLY_STATUS, {"CONFIG", "SET", "requirepass", random_password()});
      insider.call(REDIS_REPLY_INTEGER, {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    }
  }
  void take_logins() {
    for (std::size_t i = 0; i < insiders_.size(); ++i) {
      insiders_[i]->call(REDIS_REPLY_STATUS,
                         {"CONFIG", "SET", "requirepass", servers_[i].password});
    }
    insiders_.clear();
  }

  const std::vector<RedisEndpoint> servers_;
  std::vector<std::unique_ptr<RedisConnection>> insiders_;  // one of each, while logins are refused
};

}  // namespace timerbench
