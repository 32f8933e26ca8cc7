// A TCP port of an address of 127.0.0.0/8, reserved for a server that this process starts.
//
// A socket is bound to it, and does not listen. So a server that sets SO_REUSEADDR, as Redis does,
// can listen there; and who looks for a free port without that, as LoopbackPort does, gets another
// one, also while the server restarts.
#pragma once

#include <string>

#include "core/descriptor.h"

namespace timerbench {

class LoopbackPort {
 public:
  // A free one, and none of those that Linux takes for outgoing connections. Throws
  // BackendUnavailable.
  explicit LoopbackPort(std::string host = "127.0.0.1");

  const std::string& host() const { return host_; }
  int number() const;

 private:
  const std::string host_;
  const Descriptor socket_;
};

}  // namespace timerbench
