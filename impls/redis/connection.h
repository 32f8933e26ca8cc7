// A connection to a Redis server: commands out, checked replies in, every wait bounded.
//
// Over hiredis, which connects, reads and parses. Sending is done here, because hiredis 0.14 lets a
// server that has gone raise SIGPIPE.
//
// Whatever goes wrong is a BackendError of one line that names the server and says what to do;
// while connecting it is a BackendUnavailable.
#pragma once

#include <hiredis/hiredis.h>

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/backend_error.h"

namespace timerbench {

// The environment variable that names the server to use.
inline constexpr const char* kRedisUrlVariable = "TIMERBENCH_REDIS_URL";

// How long to wait for a server: to start, to be reached, to answer.
inline constexpr std::chrono::milliseconds kRedisPatience{5000};

// Where a server listens, and as whom to speak to it.
struct RedisEndpoint {
  std::string path;  // of a unix socket; empty: TCP
  std::string host;
  int port = 6379;
  int database = 0;
  std::string user;  // empty: the default user
  std::string password;

  // redis://[user:password@]host[:port][/db] or unix:///path; user and password may hold %XX.
  // Throws BackendUnavailable, which names the variable and does not repeat the password.
  static RedisEndpoint parse(std::string_view url);

  // As a URL, without user and password.
  std::string url() const;
};

// An error that the server answered, as opposed to a server that cannot be talked to.
class RedisReplyError : public BackendError {
 public:
  RedisReplyError(const std::string& what, std::string_view reply)
      : BackendError(what), code_(reply.substr(0, reply.find(' '))) {}

  // The first word of the reply: "NOSCRIPT", "OOM".
  const std::string& code() const { return code_; }

 private:
  std::string code_;
};

class RedisConnection {
 public:
  struct FreeReply {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, FreeReply>;
  using Command = std::initializer_list<std::string_view>;

  // Connects, authenticates, selects the database, and waits for an answer to PING.
  explicit RedisConnection(RedisEndpoint endpoint,
                           std::chrono::milliseconds patience = kRedisPatience);

  // Sends the command and waits for its reply, which must be of that type (REDIS_REPLY_...). An
  // error that is still outstanding from a post() is thrown in its place; the command has been
  // carried out all the same.
  Reply call(int type, Command command);

  // Sends the command at leisure: kDepth of them make a batch, or the next call() takes them along.
  // The reply, which must be an integer, is only checked; an error surfaces in a later post() or
  // call(). While the server works on one batch the client fills the next, and no more than two
  // are ever on their way, so the socket buffers cannot fill up on both sides.
  void post(Command command);

  static constexpr std::size_t kDepth = 64;

  // Waits for the replies to all that was posted. Throws the first error among them.
  void sync();

  // Whether it still works, as far as can be known without a word to the server: it was not lost,
  // and the server has not hung up. REQUIRES: nothing posted is outstanding.
  bool usable() const;

  // Makes whatever waits for the server fail at once, now and henceforth. Any thread may call this.
  void interrupt();

  // How long to wait for an answer from now on.
  void set_patience(std::chrono::milliseconds patience);

  // An error of this server, to be thrown.
  BackendError error(std::string_view what, std::string_view advice) const;

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  void connect();
  void append(Command command);
  void flush();
  Reply read();
  // Reads replies until `left` are outstanding; the first error among them, to be thrown.
  std::optional<RedisReplyError> settle(std::size_t left);
  void check(const redisReply& reply, int type) const;
  [[noreturn]] void lose();

  RedisEndpoint endpoint_;
  std::chrono::milliseconds patience_;
  std::unique_ptr<redisContext, FreeContext> context_;
  bool lost_ = false;
  std::string output_;          // appended, not yet sent
  std::size_t appended_ = 0;    // commands in output_
  std::size_t unanswered_ = 0;  // commands whose reply has not been read
};

}  // namespace timerbench
