// The PostgreSQL server that durable queues use: the user's, or a private one.
//
// A private server (engines/private_server.h) listens on a unix socket in its folder and on no TCP
// port; who may enter the folder may log in. PostgreSQL refuses to run as root: then its package's
// user `postgres` owns the folder and runs it.
#pragma once

#include <chrono>
#include <string>

#include "engines/private_server.h"

namespace timerbench {

// The environment variable that names the server to use, as a URL or a connection string of libpq.
inline constexpr const char* kPostgresUrlVariable = "TIMERBENCH_POSTGRES_URL";

class PrivatePostgresServer {
 public:
  // Makes a database and starts the server, which takes a second or two. Throws BackendUnavailable.
  explicit PrivatePostgresServer(std::chrono::milliseconds patience = std::chrono::seconds(30));

  // The connection string.
  std::string where() const;

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
