// The connections between the clients of an engine and its servers, which can be broken.
//
// Those over a unix socket are broken by a proxy in its place (durable/proxy.h), those over TCP by
// the network that clients and servers are in (faults/own_network.h).
#pragma once

#include <memory>
#include <vector>

#include "durable/engine.h"
#include "durable/proxy.h"
#include "faults/own_network.h"

namespace timerbench {

class ClientConnections {
 public:
  // Both outlive it. REQUIRES: the engine has sockets, or nodes in the network; this process has one
  // thread. Throws std::system_error.
  ClientConnections(DurableEngine& engine, const OwnNetwork* network);

  // As Proxy::Mode says, in effect some milliseconds later, until mend(). Over TCP the servers are cut
  // off one after the other, which takes a tenth of a second. No new connection is made meanwhile,
  // also if only answers are lost, since a request for a connection needs an answer too. And what is
  // held back comes after mend(), even if its sender has given up.
  void break_them(Proxy::Mode mode);
  void mend();

 private:
  struct Way {
    OwnNetwork::Addresses from, to;
    OwnNetwork::Stop how;
  };

  // In the network; none if there are proxies.
  std::vector<Way> ways_to_stop(Proxy::Mode mode) const;

  std::vector<std::unique_ptr<Proxy>> proxies_;
  const OwnNetwork* const network_;
  const OwnNetwork::Addresses nodes_;  // none if there are proxies
  std::vector<Way> stopped_{};
};

}  // namespace timerbench
