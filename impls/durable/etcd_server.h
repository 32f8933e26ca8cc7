// A private etcd (engines/private_server.h): one server that listens on unix sockets in its folder and
// on no TCP port; its data is in that folder.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "engines/private_server.h"

namespace timerbench {

class PrivateEtcdServer {
 public:
  // Starts etcd, from PATH, and waits until it answers. Throws BackendUnavailable.
  explicit PrivateEtcdServer(std::chrono::milliseconds patience = std::chrono::seconds(15));

  const PrivateServer::Folder& folder() const { return server_.folder(); }
  PrivateServer::Folder socket() const { return server_.socket(); }
  pid_t process() { return server_.process(); }

  void kill() { server_.kill(); }
  // Kills it, as by kill -9, and starts it again with what is in its folder. Returns when it answers.
  // Throws BackendUnavailable.
  void restart() { server_.restart(); }

 private:
  PrivateServer server_;
};

}  // namespace timerbench
