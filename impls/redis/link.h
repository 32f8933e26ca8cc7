// A connection to a Redis server that may stop and restart: it is replaced when it is broken.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "redis/connection.h"

namespace timerbench {

class RedisLink {
 public:
  // How long a restarted server may take to answer. Shorter than kRedisPatience, because the caller
  // tries again.
  static constexpr std::chrono::milliseconds kPatience{500};

  // Connects. Throws BackendUnavailable.
  explicit RedisLink(RedisEndpoint endpoint, std::chrono::milliseconds patience = kRedisPatience)
      : endpoint_(std::move(endpoint)),
        patience_(patience),
        connection_(std::make_unique<RedisConnection>(endpoint_, patience_)) {}

  // Connects anew if the connection does not work. Throws BackendUnavailable. REQUIRES: one thread
  // at a time calls it and uses what it returns.
  RedisConnection& get() {
    if (!connection_->usable()) {
      auto fresh = std::make_unique<RedisConnection>(endpoint_, kPatience);
      fresh->set_patience(patience_);
      const std::lock_guard lock(mutex_);
      connection_ = std::move(fresh);
    }
    return *connection_;
  }

  // Every wait for the server fails at once. Any thread may call this.
  void interrupt() {
    const std::lock_guard lock(mutex_);
    connection_->interrupt();
  }

 private:
  const RedisEndpoint endpoint_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;  // the connection is not replaced while it is interrupted
  std::unique_ptr<RedisConnection> connection_;
};

}  // namespace timerbench
