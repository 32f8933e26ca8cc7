#include "redis/loopback_port.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <random>
#include <utility>

#include "core/backend_error.h"

namespace timerbench {
namespace {

// The first of the ports that Linux takes for outgoing connections, unless it is told otherwise.
constexpr int kFirstOutgoingPort = 32768;
constexpr int kFirstPort = 10000;

}  // namespace

LoopbackPort::LoopbackPort(std::string host)
    : host_(std::move(host)), socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket") {
  std::random_device random;
  std::uniform_int_distribution<int> any_port(kFirstPort, kFirstOutgoingPort - 1);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, host_.c_str(), &address.sin_addr);
  for (int tries = 0; tries < 100; ++tries) {
    address.sin_port = htons(static_cast<std::uint16_t>(any_port(random)));
    if (bind(socket_.fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      continue;
    }
    // Not before: two that look for a port would get the same one.
    const int yes = 1;
    setsockopt(socket_.fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    return;
  }
  throw BackendUnavailable(fmt::format("no port of {} from {} to {} is free; close some", host_,
                                       kFirstPort, kFirstOutgoingPort - 1));
}

int LoopbackPort::number() const {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(socket_.fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

}  // namespace timerbench
