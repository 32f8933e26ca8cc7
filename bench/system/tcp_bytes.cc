#include "system/tcp_bytes.h"

#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "system/entries.h"

namespace timerbench {
namespace {

// Of the sockets that these processes have open.
std::set<std::uint32_t> inodes_of(const std::vector<pid_t>& processes) {
  constexpr std::string_view kSocket = "socket:[";
  std::set<std::uint32_t> inodes;
  for (const pid_t process : processes) {
    for_each_entry(fmt::format("/proc/{}/fd", process), [&](const auto& entry) {
      std::error_code closed;
      const std::string target = std::filesystem::read_symlink(entry.path(), closed);
      if (!target.starts_with(kSocket)) return;
      std::uint32_t inode = 0;
      std::from_chars(target.data() + kSocket.size(), target.data() + target.size(), inode);
      inodes.insert(inode);
    });
  }
  return inodes;
}

class Diagnosis {
 public:
  Diagnosis() : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Diagnosis() {
    if (socket_ >= 0) close(socket_);
  }
  Diagnosis(const Diagnosis&) = delete;
  Diagnosis& operator=(const Diagnosis&) = delete;

  // Adds those of one family. Returns whether the kernel has told all.
  bool add(int family, const std::set<std::uint32_t>& inodes, TcpBytes& bytes) {
    struct {
      nlmsghdr header;
      inet_diag_req_v2 request;
    } message{};
    message.header = {.nlmsg_len = sizeof message,
                      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                      .nlmsg_seq = 0,
                      .nlmsg_pid = 0};
    message.request.sdiag_family = static_cast<std::uint8_t>(family);
    message.request.sdiag_protocol = IPPROTO_TCP;
    message.request.idiag_ext = 1U << (INET_DIAG_INFO - 1);
    message.request.idiag_states = 1U << kEstablished;
    if (send(socket_, &message, sizeof message, 0) != sizeof message) return false;
    alignas(nlmsghdr) std::array<char, 1 << 16> answer;
    for (;;) {
      const ssize_t size = recv(socket_, answer.data(), answer.size(), 0);
      if (size <= 0) return false;
      auto left = static_cast<unsigned>(size);
      for (auto* one = reinterpret_cast<nlmsghdr*>(answer.data()); NLMSG_OK(one, left);
           one = NLMSG_NEXT(one, left)) {
        if (one->nlmsg_type == NLMSG_DONE) return true;
        if (one->nlmsg_type == NLMSG_ERROR) return false;
        add_connection(one, inodes, bytes);
      }
    }
  }

 private:
  static constexpr int kEstablished = 1;  // TCP_ESTABLISHED

  static void add_connection(nlmsghdr* one, const std::set<std::uint32_t>& inodes,
                             TcpBytes& bytes) {
    auto* const socket = static_cast<inet_diag_msg*>(NLMSG_DATA(one));
    if (!inodes.contains(socket->idiag_inode)) return;
    auto left = static_cast<unsigned>(one->nlmsg_len - NLMSG_LENGTH(sizeof *socket));
    for (auto* part = reinterpret_cast<rtattr*>(socket + 1); RTA_OK(part, left);
         part = RTA_NEXT(part, left)) {
      if (part->rta_type != INET_DIAG_INFO) continue;
      tcp_info info{};
      std::memcpy(&info, RTA_DATA(part), std::min<std::size_t>(sizeof info, RTA_PAYLOAD(part)));
      ++bytes.connections;
      bytes.sent += info.tcpi_bytes_acked;
      bytes.received += info.tcpi_bytes_received;
    }
  }

  const int socket_;
};

}  // namespace

std::optional<TcpBytes> tcp_bytes_of(const std::vector<pid_t>& processes) {
  const std::set<std::uint32_t> inodes = inodes_of(processes);
  Diagnosis diagnosis;
  TcpBytes bytes;
  for (const int family : {AF_INET, AF_INET6}) {
    if (!diagnosis.add(family, inodes, bytes)) return {};
  }
  return bytes;
}

}  // namespace timerbench
