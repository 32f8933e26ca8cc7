#include "durable/etcd_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace timerbench {
namespace {

// etcd wants a host and a port in the URL of a socket, and makes a file of them where it is
// started. One that it has left when it was killed is in its way.
constexpr std::string_view kSocketName = "localhost:1";
constexpr const char* kStart = R"(cd "$0" && rm -f localhost:* && exec etcd \
  --name=timerbench --data-dir=data \
  --listen-client-urls=unix://localhost:1 --advertise-client-urls=unix://localhost:1 \
  --listen-peer-urls=unix://localhost:2 --initial-advertise-peer-urls=unix://localhost:2 \
  --initial-cluster=timerbench=unix://localhost:2)";

// Throws BackendUnavailable unless the server says that it is healthy.
void probe(const std::filesystem::path& socket_path) {
  constexpr std::string_view kRequest = "GET /health HTTP/1.0\r\n\r\n";
  constexpr int kPatienceMs = 2000;
  // A server whose queue of clients is full refuses at once.
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::ranges::copy(socket_path.native(), address.sun_path);
  std::string answer;
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      send(connection, kRequest.data(), kRequest.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 512> bytes;
    pollfd file{.fd = connection, .events = POLLIN, .revents = 0};
    ssize_t count = 0;
    while (poll(&file, 1, kPatienceMs) > 0 &&
           (count = recv(connection, bytes.data(), bytes.size(), 0)) > 0) {
      answer.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }
  close(connection);
  if (answer.find(R"("health":"true")") == answer.npos) throw BackendUnavailable("not healthy");
}

PrivateServer::Program etcd_program(std::chrono::milliseconds patience) {
  return {.name = "etcd",
          .advice = "install it (apt-get install etcd-server)",
          .arguments =
              [](const std::filesystem::path& folder) {
                return std::vector<std::string>{"sh", "-c", kStart, folder};
              },
          .probe = [](const std::filesystem::path& folder) { probe(folder / kSocketName); },
          .patience = patience,
          .socket = kSocketName,
          .stamp = R"([\d-]+ [\d:.]+ \w \| )"};
}

}  // namespace

PrivateEtcdServer::PrivateEtcdServer(std::chrono::milliseconds patience)
    : server_(etcd_program(patience)) {}

}  // namespace timerbench
