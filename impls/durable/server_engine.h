// An engine that is a private server, or one of the user's.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "durable/engine.h"

namespace timerbench {

// Server: has folder(), socket(), process(), kill(), and restart(), which kills it and starts it again.
template <class Server>
class ServerEngine : public DurableEngine {
 public:
  void restart() override {
    if (server_) server_->restart();
  }
  void kill() override {
    if (server_) server_->kill();
  }
  std::vector<std::filesystem::path> sockets() const override {
    if (!server_) return {};
    return {server_->socket()};
  }
  bool is_restartable() const override { return server_.has_value(); }
  std::vector<std::filesystem::path> folders() const override {
    if (!server_) return {};
    return {server_->folder()};
  }
  std::vector<pid_t> processes() override {
    if (!server_) return {};
    return {server_->process()};
  }

 protected:
  std::optional<Server> server_;  // none: the user's
};

}  // namespace timerbench
