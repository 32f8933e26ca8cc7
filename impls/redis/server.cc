#include "redis/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

namespace timerbench {
namespace {

constexpr std::string_view kInstall =
    "install it (apt-get install redis-server) or name a running one in TIMERBENCH_REDIS_URL";

constexpr std::string_view kSocketName = "socket";

// The first of the ports that Linux takes for outgoing connections, unless it is told otherwise.
constexpr int kFirstOutgoingPort = 32768;
constexpr int kFirstPort = 10000;

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

int free_loopback_port(const std::string& host) {
  std::random_device random;
  std::uniform_int_distribution<int> any_port(kFirstPort, kFirstOutgoingPort - 1);
  for (int tries = 0; tries < 100; ++tries) {
    const int port = any_port(random);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_free =
        bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    close(probe);
    if (is_free) return port;
  }
  throw BackendUnavailable(fmt::format("no port of {} from {} to {} is free; close some", host,
                                       kFirstPort, kFirstOutgoingPort - 1));
}

RedisEndpoint free_loopback(std::string password, std::string host) {
  RedisEndpoint endpoint;
  endpoint.host = std::move(host);
  endpoint.port = free_loopback_port(endpoint.host);
  endpoint.password = std::move(password);
  return endpoint;
}

std::string random_password() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
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
