#include "redis/server.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "engines/users_url.h"

namespace timerbench {
namespace {

constexpr std::string_view kInstall =
    "install it (apt-get install redis-server) or name a running one in TIMERBENCH_REDIS_URL";

constexpr std::string_view kSocketName = "socket";

RedisEndpoint socket_in(const std::filesystem::path& folder) {
  RedisEndpoint endpoint;
  endpoint.path = folder / kSocketName;
  return endpoint;
}

// Writes a file for redis-server that only this user may read.
void write_passwords(const std::string& path, const std::string& password) {
  const std::string text = fmt::format("requirepass {0}\nmasterauth {0}\n", password);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool is_written =
      file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (file >= 0) close(file);
  if (!is_written) {
    throw BackendUnavailable(fmt::format("cannot write {}: {}; set TMPDIR to a folder with room",
                                         path, std::strerror(error)));
  }
}

// Without `loopback` it listens on a socket in its folder.
PrivateServer::Program redis_program(const std::optional<RedisEndpoint>& loopback,
                                     const PrivateRedisServer::Settings& settings,
                                     std::chrono::milliseconds patience) {
  return {
      .name = "redis-server",
      .advice = kInstall,
      .arguments =
          [loopback, settings](const std::filesystem::path& folder) {
            std::vector<std::string> arguments{"redis-server"};
            const auto add = [&](std::initializer_list<std::string> more) {
              arguments.insert(arguments.end(), more);
            };
            if (loopback) {
              const std::string passwords = folder / "passwords.conf";
              write_passwords(passwords, loopback->password);
              add({passwords, "--bind", loopback->host, "--bind-source-addr", loopback->host,
                   "--port", std::to_string(loopback->port)});
            } else {
              add({"--port", "0", "--unixsocket", folder / kSocketName, "--unixsocketperm", "700"});
            }
            add({"--dir", folder});
            arguments.insert(arguments.end(), settings.begin(), settings.end());
            return arguments;
          },
      .probe =
          [loopback, patience](const std::filesystem::path& folder) {
            RedisConnection probe(loopback ? *loopback : socket_in(folder), patience);
          },
      .patience = patience,
      .socket = kSocketName,
      .stamp = R"(\d+:\w \d+ \w+ \d+ [\d:.]+ . )"};
}

}  // namespace

PrivateRedisServer::PrivateRedisServer(std::chrono::milliseconds patience, Settings settings)
    : server_(redis_program(std::nullopt, settings, patience)),
      endpoint_(socket_in(server_.folder())) {}

PrivateRedisServer::PrivateRedisServer(RedisEndpoint loopback, Settings settings,
                                       std::chrono::milliseconds patience)
    : server_(redis_program(loopback, settings, patience)), endpoint_(std::move(loopback)) {}

void await_redis_replica(const RedisEndpoint& master) {
  RedisConnection connection(master);
  const std::string most = std::to_string(kRedisPatience.count() * 9 / 10);
  if (connection.call(REDIS_REPLY_INTEGER, {"WAIT", "1", most})->integer < 1) {
    throw BackendUnavailable(
        connection.error(fmt::format("no replica has a copy within {} ms", most), "see its log")
            .what());
  }
}

RedisEndpoint endpoint_at(const LoopbackPort& port, std::string password) {
  RedisEndpoint endpoint;
  endpoint.host = port.host();
  endpoint.port = port.number();
  endpoint.password = std::move(password);
  return endpoint;
}

std::string random_password() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

RedisEndpoint redis_endpoint() {
  if (const char* url = users_url(kRedisUrlVariable)) return RedisEndpoint::parse(url);
  static std::mutex mutex;
  static std::unique_ptr<PrivateRedisServer> server;
  const std::lock_guard lock(mutex);
  if (!server || !server->running()) server = std::make_unique<PrivateRedisServer>();
  return server->endpoint();
}

}  // namespace timerbench
