// The redis-server that the Redis backends use: the user's, or a private one.
//
// A private server listens on a unix socket in a new temporary folder of mode 0700, on no TCP port,
// and keeps nothing on disk. A small process, the keeper, is its parent. The keeper waits until the
// program ends, however it ends (exit, a signal, kill -9), then kills the server and removes the
// folder. If the server ends first, the keeper removes the folder at once. The keeper has a session
// of its own and blocks all signals, so that a Ctrl-C does not end the server while the program is
// still cleaning up. If the keeper itself is killed, the server dies with it (PR_SET_PDEATHSIG).
// That signal is sent when the thread that forked ends; the keeper has only one thread, and so it
// is the parent, not the thread that made the first queue.
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

  pid_t owner_;  // a process forked from the owner leaves the server alone
  std::filesystem::path folder_;
  std::unique_ptr<std::FILE, CloseFile> log_;  // of the server; readable even after its removal
  int lifeline_ = -1;                          // a socket to the keeper that closes with the owner
  pid_t keeper_ = 0;                           // 0: none, or ended
};

// The server that TIMERBENCH_REDIS_URL names; without the variable, the private server of this
// process, which is started on first use and replaced if it has ended. Throws BackendUnavailable.
RedisEndpoint redis_endpoint();

}  // namespace timerbench
