#include "redis/link.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace timerbench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono_literals::operator""ms;

}  // namespace

RedisLink::RedisLink(RedisEndpoint endpoint, std::chrono::milliseconds patience)
    : RedisLink(std::vector{std::move(endpoint)}, patience) {}

RedisLink::RedisLink(std::vector<RedisEndpoint> endpoints, std::chrono::milliseconds patience)
    : endpoints_(std::move(endpoints)),
      patience_(patience),
      connection_(connect(patience, {.give_up = Clock::now() + patience * endpoints_.size()})) {}

RedisConnection& RedisLink::get() {
  return get({.give_up = Clock::now() + kPatience * endpoints_.size()});
}

RedisConnection& RedisLink::get(const Limits& limits) {
  if (!connection_ || !connection_->usable()) {
    auto fresh = connect(kPatience, limits);
    fresh->set_patience(patience_);
    const std::lock_guard lock(mutex_);
    connection_ = std::move(fresh);
  }
  return *connection_;
}

void RedisLink::with(std::string_view, const Limits& limits, const Use& use) {
  const auto use_it = [&] {
    RedisConnection& connection = get(limits);
    connection.set_patience(limits.left());
    use(connection);
  };
  try {
    use_it();
  } catch (const RedisReplyError& error) {
    if (error.code() != "READONLY" || endpoints_.size() == 1) throw;
    // It was the master, and is none any more. What was posted to it is told as refused.
    const bool is_of_a_post = connection_->awaits_posts();
    {
      const std::lock_guard lock(mutex_);
      connection_.reset();
    }
    if (is_of_a_post) throw;
    use_it();
  }
}

void RedisLink::interrupt() {
  const std::lock_guard lock(mutex_);
  if (connection_) connection_->interrupt();
}

std::unique_ptr<RedisConnection> RedisLink::connect(std::chrono::milliseconds patience,
                                                    const Limits& limits) const {
  std::optional<BackendUnavailable> failure;
  auto servers_left = static_cast<int>(endpoints_.size());
  for (const RedisEndpoint& endpoint : endpoints_) {
    try {
      // One that is silent leaves time for the others.
      auto connection = std::make_unique<RedisConnection>(
          endpoint, std::clamp(limits.left() / servers_left--, 1ms, patience));
      if (endpoints_.size() == 1 || connection->is_to_master()) return connection;
      if (!failure) {
        failure.emplace(connection
                            ->error("it is a replica, and no other server is a master",
                                    "start the master, or promote a replica")
                            .what());
      }
    } catch (const BackendError& error) {
      failure.emplace(error.what());
    }
  }
  throw *failure;
}

}  // namespace timerbench
