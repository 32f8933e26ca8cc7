// What processes have sent and received by TCP.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace timerbench {

struct TcpBytes {
  std::uint64_t connections = 0;  // that are open
  std::uint64_t sent = 0;         // by them, as far as the other end has confirmed it
  std::uint64_t received = 0;
};

// Of the connections that these processes have open; one that they share counts once. Nothing if the
// kernel does not tell. It is asked by sock_diag(7), as by ss(8), for the whole machine, which takes a
// millisecond or two.
std::optional<TcpBytes> tcp_bytes_of(const std::vector<pid_t>& processes);

}  // namespace timerbench
