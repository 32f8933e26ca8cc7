// A Lua script that a server runs in one atomic step.
#pragma once

#include <string>
#include <string_view>

#include "redis/connection.h"

namespace timerbench {

class RedisScript {
 public:
  RedisScript(RedisConnection& connection, std::string_view text)
      : text_(text), sha1_(connection.call(REDIS_REPLY_STRING, {"SCRIPT", "LOAD", text})->str) {}

  // `words` are the number of keys, the keys and the arguments. Any connection to the same server
  // will do. If the server has forgotten the script, it is sent again.
  template <class... Words>
  RedisConnection::Reply call(RedisConnection& connection, int type, const Words&... words) const {
    try {
      return connection.call(type, {"EVALSHA", sha1_, words...});
    } catch (const RedisReplyError& error) {
      if (error.code() != "NOSCRIPT") throw;  // SCRIPT FLUSH, or a restart
    }
    return connection.call(type, {"EVAL", text_, words...});
  }

 private:
  std::string text_;
  std::string sha1_;  // the server's name for it
};

}  // namespace timerbench
