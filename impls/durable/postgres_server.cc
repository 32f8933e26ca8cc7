#include "durable/postgres_server.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "durable/postgres_connection.h"

namespace timerbench {
namespace {

constexpr std::string_view kInstall =
    "install it (apt-get install postgresql) or name a running one in TIMERBENCH_POSTGRES_URL";

// Debian keeps the programs of each version apart, as in 9.6 and 15, and not on PATH. Empty: they are
// on PATH.
std::filesystem::path newest_programs() {
  std::filesystem::path newest;
  double newest_version = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    const double version = std::strtod(entry.path().filename().c_str(), nullptr);
    if (version > newest_version &&
        std::filesystem::exists(entry.path() / "bin/postgres", ignored)) {
      newest_version = version;
      newest = entry.path() / "bin";
    }
  }
  return newest;
}

// $1 is the folder, and $2 the folder of the programs.
constexpr const char* kScript = R"sh(
  set -e
  PATH=$2:$PATH
  as=
  if [ "$(id -u)" = 0 ]; then
    chown postgres "$1"
    # The signal of run_server() is cleared when the user changes.
    as="setpriv --reuid=postgres --regid=postgres --clear-groups --pdeathsig=KILL"
  fi
  cd "$1"
  if ! [ -e "$1/data/PG_VERSION" ]; then
    $as initdb --pgdata="$1/data" --username=timerbench --auth=trust --encoding=UTF8 \
      --locale=C --no-sync > /dev/null
  fi
  exec $as postgres -D "$1/data" -k "$1" -c listen_addresses= -c unix_socket_permissions=0700
)sh";

std::string connection_string(const std::filesystem::path& folder) {
  return fmt::format("host={} user=timerbench dbname=postgres", folder.string());
}

PrivateServer::Program postgres_program(std::chrono::milliseconds patience) {
  return {.name = "postgresql",
          .advice = kInstall,
          .arguments =
              [](const std::filesystem::path& folder) {
                return std::vector<std::string>{"sh",         "-c",   kScript,
                                                "postgresql", folder, newest_programs()};
              },
          .probe =
              [patience](const std::filesystem::path& folder) {
                PostgresConnection probe(connection_string(folder), patience);
              },
          .patience = patience,
          .socket = ".s.PGSQL.5432",
          // After kill -9 it refuses to start until its last child has noticed.
          .passing_failure = "in use",
          .stamp = R"([\d-]+ [\d:.]+ \w+ \[\d+\] )",
          .last_signal = SIGQUIT};  // it removes its shared memory, and writes nothing
}

}  // namespace

PrivatePostgresServer::PrivatePostgresServer(std::chrono::milliseconds patience)
    : server_(postgres_program(patience)) {}

std::string PrivatePostgresServer::where() const { return connection_string(server_.folder()); }

}  // namespace timerbench
