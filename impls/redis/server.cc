#include "redis/server.h"

#include <fmt/core.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

namespace timerbench {
namespace {

constexpr std::string_view kInstall =
    "install it (apt-get install redis-server) or name a running one in TIMERBENCH_REDIS_URL";

constexpr std::string_view kSocketName = "socket";

PrivateServer::Program redis_program(const PrivateRedisServer::Settings& settings) {
  return {.name = "redis-server",
          .advice = kInstall,
          .arguments =
              [settings](const std::filesystem::path& folder) {
                std::vector<std::string> arguments{
                    "redis-server",     "--port", "0",     "--unixsocket", folder / kSocketName,
                    "--unixsocketperm", "700",    "--dir", folder};
                arguments.insert(arguments.end(), settings.begin(), settings.end());
                return arguments;
              },
          .socket = kSocketName};
}

}  // namespace

PrivateRedisServer::PrivateRedisServer(std::chrono::milliseconds patience, Settings settings)
    : patience_(patience), server_(redis_program(settings)) {
  await_answer();
}

RedisEndpoint PrivateRedisServer::endpoint() const {
  RedisEndpoint endpoint;
  endpoint.path = folder() / kSocketName;
  return endpoint;
}

void PrivateRedisServer::restart() {
  server_.start();
  await_answer();
}

void PrivateRedisServer::await_answer() {
  const auto give_up = std::chrono::steady_clock::now() + patience_;
  for (;;) {
    try {
      RedisConnection probe(endpoint(), patience_);
      return;
    } catch (const BackendUnavailable&) {
      if (!running()) server_.fail(server_.last_words());
      if (std::chrono::steady_clock::now() >= give_up) {
        server_.fail(fmt::format("it did not answer within {} ms", patience_.count()));
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

RedisEndpoint redis_endpoint() {
  if (const char* url = std::getenv(kRedisUrlVariable); url != nullptr && *url != '\0') {
    return RedisEndpoint::parse(url);
  }
  static std::mutex mutex;
  static std::unique_ptr<PrivateRedisServer> server;
  const std::lock_guard lock(mutex);
  if (!server || !server->running()) server = std::make_unique<PrivateRedisServer>();
  return server->endpoint();
}

}  // namespace timerbench
