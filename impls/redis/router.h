// Finds the server that has a key.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "redis/connection.h"

namespace timerbench {

class RedisRouter {
 public:
  using Use = std::function<void(RedisConnection&)>;

  struct Limits {
    std::chrono::steady_clock::time_point give_up;
    // Whether to wait, until then, for a server that is about to take over.
    bool await_recovery = true;

    // At least 1 ms, for Redis takes 0 for "forever".
    std::chrono::milliseconds left() const {
      const auto rest =
          std::chrono::ceil<std::chrono::milliseconds>(give_up - std::chrono::steady_clock::now());
      return std::max(rest, std::chrono::milliseconds(1));
    }
  };

  RedisRouter() = default;
  RedisRouter(const RedisRouter&) = delete;
  RedisRouter& operator=(const RedisRouter&) = delete;
  virtual ~RedisRouter() = default;

  // Calls `use` with a connection to the server that has `key`; an answer must come before the
  // limits end. If that server refuses because it does not have the key, it calls `use` again with
  // another. So `use` must begin with a command on that key, and what it does after that must be
  // refused by no server that took the first.
  //
  // Passes on what `use` throws, also that an answer was lost: only the caller knows whether it may
  // ask twice. Throws BackendUnavailable if no server takes the key; then nothing has been done.
  virtual void with(std::string_view key, const Limits& limits, const Use& use) = 0;

  // To the same servers, with connections of its own, which are made when they are needed.
  virtual std::unique_ptr<RedisRouter> another() const = 0;
};

}  // namespace timerbench
