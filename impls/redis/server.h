// The redis-server that the Redis backends use: the user's, or a private one.
//
// A private server listens on a unix socket in a new temporary folder of mode 0700, on no TCP port,
// and keeps nothing on disk. A small process of its own, the keeper, stands between the program and
// the server. It waits until the program ends, however it ends (exit, a signal, kill -9), then
// kills the server and removes the folder; and if the server ends first, it removes the folder at
// once. The keeper is in a session of its own and lets no signal through, so that a Ctrl-C does not
// take the server away while the program is still tidying up. Should the keeper itself be killed,
// the server dies with it (PR_SET_PDEATHSIG): that signal follows the thread that forked, hence the
// keeper, which has only one, is the parent, and not whichever thread made the first queue.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "redis/connection.h"

namespace timerbench {

class PrivateRedisServer {
 public:
  // Starts redis-server, from PATH, and waits until it answers. Throws BackendUnavailable.
  explicit PrivateRedisServer(std::chrono::milliseconds patience = kRedisPatience);
  // Returns when the server has ended and the folder is gone.
  ~PrivateRedisServer();

  PrivateRedisServer(const PrivateRedisServer&) = delete;
  PrivateRedisServer& operator=(const PrivateRedisServer&) = delete;

  RedisEndpoint endpoint() const;
  const std::filesystem::path& folder() const { return folder_; }
  bool running();

 private:
  void launch();
  void await_answer(std::chrono::milliseconds patience);
  void stop() noexcept;
  std::string last_words() const;

  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  pid_t owner_;  // a process forked from the owner has no business with the server
  std::filesystem::path folder_;
  std::unique_ptr<std::FILE, CloseFile> log_;  // of the server; readable even after its removal
  int lifeline_ = -1;                          // a socket to the keeper that closes with the owner
  pid_t keeper_ = 0;                           // 0: none, or ended
};

// The server that TIMERBENCH_REDIS_URL names; without the variable, the private server of this
// process, which is started on first use and replaced if it has ended. Throws BackendUnavailable.
RedisEndpoint redis_endpoint();

}  // namespace timerbench
