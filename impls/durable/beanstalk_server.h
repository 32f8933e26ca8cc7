// The beanstalkd server that durable queues use: the user's, or a private one.
//
// A private server (engines/private_server.h) listens on a unix socket in its folder and on no TCP
// port; its binlog is in that folder.
#pragma once

#include <chrono>

#include "durable/beanstalk_connection.h"
#include "engines/private_server.h"

namespace timerbench {

class PrivateBeanstalkServer {
 public:
  // Starts beanstalkd, from PATH, and waits until it answers. It synchronises its binlog at most
  // once in so many milliseconds; 0: at each change. Throws BackendUnavailable.
  explicit PrivateBeanstalkServer(int fsync_ms,
                                  std::chrono::milliseconds patience = std::chrono::seconds(10));

  BeanstalkEndpoint endpoint() const;
  const PrivateServer::Folder& folder() const { return server_.folder(); }
  std::filesystem::path socket() const { return server_.socket(); }
  pid_t process() { return server_.process(); }

  void kill() { server_.kill(); }
  // Kills it, if it runs, and starts it again with what is in its folder. Returns when it answers.
  // Throws BackendUnavailable.
  void restart() { server_.restart(); }

 private:
  PrivateServer server_;
};

}  // namespace timerbench
