// A connection to a Redis server that may stop and restart: it is replaced when it is broken.
//
// Of several servers that replicate each other it is to the one that says that it is the master. An
// old master that was cut off from the others says so too, and takes writes that will be lost: whoever
// promotes a replica must see to it that the old master is dead or has become a replica.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/connection.h"
#include "redis/router.h"

namespace timerbench {

class RedisLink final : public RedisRouter {
 public:
  // How long a restarted server may take to answer, at most. Shorter than kRedisPatience, because the
  // caller tries again.
  static constexpr std::chrono::milliseconds kPatience{500};

  // Connects. Throws BackendUnavailable.
  explicit RedisLink(RedisEndpoint endpoint, std::chrono::milliseconds patience = kRedisPatience);
  // Any of them may be the master, now and later. REQUIRES: there is one.
  RedisLink(std::vector<RedisEndpoint> endpoints, std::chrono::milliseconds patience);

  // Connects anew if the connection does not work. Throws BackendUnavailable. REQUIRES: one thread
  // at a time calls it and uses what it returns.
  RedisConnection& get();

  // The key does not matter, and nothing is waited for: the next call connects anew.
  void with(std::string_view key, const Limits& limits, const Use& use) override;

  std::unique_ptr<RedisRouter> another() const override {
    return std::unique_ptr<RedisRouter>(
        new RedisLink(endpoints_, patience_, /*connection=*/nullptr));
  }

  // Every wait for the server fails at once. Any thread may call this.
  void interrupt();

 private:
  // Connects later.
  RedisLink(std::vector<RedisEndpoint> endpoints, std::chrono::milliseconds patience,
            std::unique_ptr<RedisConnection> connection)
      : endpoints_(std::move(endpoints)), patience_(patience), connection_(std::move(connection)) {}

  RedisConnection& get(const Limits& limits);
  // With so much patience for each of the servers, at most its share of what the limits leave.
  std::unique_ptr<RedisConnection> connect(std::chrono::milliseconds patience,
                                           const Limits& limits) const;

  const std::vector<RedisEndpoint> endpoints_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;  // the connection is not replaced while it is interrupted
  std::unique_ptr<RedisConnection> connection_;  // none before it is needed
};

}  // namespace timerbench
