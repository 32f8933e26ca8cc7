// A Lua script that a server runs in one atomic step.
#pragma once

#include <span>
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
    std::string_view command[] = {"EVALSHA", sha1_, words...};
    return run(connection, type, command);
  }

  // `command` is EVALSHA, any word, and the words as above.
  RedisConnection::Reply run(RedisConnection& connection, int type,
                             std::span<std::string_view> command) const {
    command[1] = sha1_;
    try {
      return connection.call(type, command);
    } catch (const RedisReplyError& error) {
      if (error.code() != "NOSCRIPT") throw;  // SCRIPT FLUSH, or a restart
    }
    command[0] = "EVAL";
    command[1] = text_;
    return connection.call(type, command);
  }

  // As run(), but nobody reads the answer, which must be an integer (RedisConnection::post()). So it
  // sends the whole script, which the server may have forgotten.
  void post(RedisConnection& connection, std::span<std::string_view> command) const {
    command[0] = "EVAL";
    command[1] = text_;
    connection.post(command);
    connection.send();
  }

 private:
  std::string text_;
  std::string sha1_;  // the server's name for it
};

}  // namespace timerbench
