// A connection to a Redis server: commands out, checked replies in, every wait bounded.
//
// Over hiredis, which connects, reads and parses. Sending is done here, because hiredis 0.14 lets a
// server that has gone raise SIGPIPE.
//
// Every failure is a BackendError of one line that names the server and says what to do; while
// connecting it is a BackendUnavailable.
#pragma once

#include <hiredis/hiredis.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/backend_error.h"

namespace timerbench {

// The environment variable that names the server to use.
inline constexpr const char* kRedisUrlVariable = "TIMERBENCH_REDIS_URL";

// How long to wait for a server: to start, to be reached, to answer.
inline constexpr std::chrono::milliseconds kRedisPatience{5000};

// Where a server listens, and which user to log in as.
struct RedisEndpoint {
  std::string path;  // of a unix socket; empty: TCP
  std::string host;
  int port = 6379;
  int database = 0;
  std::string user;  // empty: the default user
  std::string password;
  const char* variable = kRedisUrlVariable;  // which the user sets, for advice

  // redis://[user:password@]host[:port][/db] or unix:///path; user and password may hold %XX.
  // Throws BackendUnavailable, which names the variable and does not repeat the password.
  static RedisEndpoint parse(std::string_view url, const char* variable = kRedisUrlVariable);

  // As a URL, without user and password.
  std::string url() const;
};

// An error that the server answered; other errors mean that the server cannot be reached.
class RedisReplyError : public BackendError {
 public:
  RedisReplyError(const std::string& what, std::string_view reply)
      : BackendError(what), reply_(reply) {}

  const std::string& reply() const { return reply_; }
  // The first word of the reply: "NOSCRIPT", "OOM".
  std::string code() const { return reply_.substr(0, reply_.find(' ')); }

 private:
  std::string reply_;
};

// A command was sent, or a part of it, and no answer has come; it may have been carried out.
class RedisAnswerLost : public BackendError {
 public:
  using BackendError::BackendError;
};

class RedisConnection {
 public:
  struct FreeReply {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, FreeReply>;
  using Words = std::span<const std::string_view>;
  using Command = std::initializer_list<std::string_view>;

  // Connects, and then authenticates, selects the database, and waits for an answer to PING; both
  // within the patience. Names are resolved with the patience of the system's resolver.
  explicit RedisConnection(RedisEndpoint endpoint,
                           std::chrono::milliseconds patience = kRedisPatience);

  static constexpr int kAnyType = 0;

  // Sends the command and waits for its reply, which must be of that type (REDIS_REPLY_...). An
  // error that is still outstanding from a post() is thrown in its place; the command has been
  // carried out all the same.
  Reply call(int type, Words command);
  Reply call(int type, Command command) {
    return call(type, Words(command.begin(), command.size()));
  }

  // Buffers the command; it is sent when kDepth of them make a batch, or with send() or call(). The
  // reply must be an integer; it is checked and dropped. A later post() or call() throws its error.
  // While the server works on one batch the client fills the next. At most two batches are on their
  // way, so that the socket buffers cannot fill up on both sides.
  void post(Words command);
  void post(Command command) { post(Words(command.begin(), command.size())); }

  static constexpr std::size_t kDepth = 64;

  // Sends what post() has buffered.
  void send();

  // Waits for the replies to all posted commands. Throws the first error among them.
  void sync();

  // Whether the replies to some posted commands have not been read.
  bool awaits_posts() const { return unanswered_ > 0 && !is_asked_; }

  // Asks the server whether it is a master and no replica.
  bool is_to_master();

  // Sends the command and does not wait for its reply, which answer_by() returns. The server must
  // answer within so long. REQUIRES: nothing is outstanding. Until it is answered, no other command
  // is sent.
  void ask(Command command, std::chrono::milliseconds longest);
  bool is_asked() const { return is_asked_; }

  // The reply to what was asked, or nullptr if it has not come by then. Throws RedisAnswerLost if
  // the server has had long enough. REQUIRES: is_asked().
  Reply answer_by(std::chrono::steady_clock::time_point when);

  // Whether the connection still works, as far as the client knows without asking: it was not lost,
  // and the server has not hung up, which shows only if no posted command is outstanding.
  bool usable() const;

  // Tells it from all others of this process; not 0.
  std::uint64_t number() const { return number_; }

  // Every wait for the server fails at once from now on. Any thread may call this.
  void interrupt();

  // How long each of the calls above may wait for the server from now on, however slowly its bytes
  // come.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

  // Whether ASKING goes before each call() from now on: then a node of a cluster takes it for a slot
  // that is on its way to it.
  void set_asking(bool asking) { asking_ = asking; }

  // An error of this server, to be thrown.
  BackendError error(std::string_view what, std::string_view advice) const;

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  using Clock = std::chrono::steady_clock;
  using Instant = Clock::time_point;

  void connect();
  // When a call that begins now gives up.
  Instant end_of_patience() const { return Clock::now() + patience_; }
  Reply exchange(int type, Words command, Instant give_up);
  void append(Words command);
  void flush(Instant give_up);
  Reply read(Instant give_up);
  // Likewise, but nullptr if the reply has not come by then.
  Reply read_by(Instant when);
  // Waits for the socket. Returns false if it is not ready by then.
  bool await(short events, Instant when);
  // Reads replies until `left` are outstanding. Returns the first error among them.
  std::optional<RedisReplyError> settle(std::size_t left, Instant give_up);
  void check(const redisReply& reply, int type) const;
  [[noreturn]] void lose();
  [[noreturn]] void lose_patience();

  inline static std::atomic<std::uint64_t> last_number = 0;

  const std::uint64_t number_ = ++last_number;
  RedisEndpoint endpoint_;
  std::chrono::milliseconds patience_;
  std::unique_ptr<redisContext, FreeContext> context_;
  bool lost_ = false;
  bool asking_ = false;
  std::string output_;          // appended, not yet sent
  std::size_t appended_ = 0;    // commands in output_
  std::size_t unanswered_ = 0;  // commands whose reply has not been read
  bool is_asked_ = false;       // that one is to what was asked
  Instant give_up_;             // on that one
};

}  // namespace timerbench
