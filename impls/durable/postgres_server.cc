#include "durable/postgres_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "durable/postgres_connection.h"

namespace timerbench {
namespace {

constexpr std::string_view kInstall =
    "install it (apt-get install postgresql) or name a running one in TIMERBENCH_POSTGRES_URL";

// Debian keeps the programs of each version apart, and not on PATH. Empty: they are on PATH.
std::filesystem::path newest_programs() {
  std::vector<std::filesystem::path> versions;
  std::error_code ignored;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    if (std::filesystem::exists(version.path() / "bin/postgres", ignored)) {
      versions.push_back(version.path() / "bin");
    }
  }
  return versions.empty() ? std::filesystem::path() : *std::ranges::max_element(versions);
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

PrivateServer::Program postgres_program() {
  return {.name = "postgresql",
          .advice = kInstall,
          .arguments =
              [](const std::filesystem::path& folder) {
                return std::vector<std::string>{"sh",         "-c",   kScript,
                                                "postgresql", folder, newest_programs()};
              },
          .socket = ".s.PGSQL.5432"};
}

}  // namespace

PrivatePostgresServer::PrivatePostgresServer(std::chrono::milliseconds patience)
    : patience_(patience), server_(postgres_program()) {
  await_answer();
}

std::string PrivatePostgresServer::where() const {
  return fmt::format("host={} user=timerbench dbname=postgres", server_.folder().string());
}

void PrivatePostgresServer::restart() {
  server_.kill();
  server_.start();
  await_answer();
}

// After kill -9 it refuses to start until its last child has noticed, so it is started again.
void PrivatePostgresServer::await_answer() {
  const auto give_up = std::chrono::steady_clock::now() + patience_;
  for (;;) {
    try {
      PostgresConnection probe(where(), patience_);
      return;
    } catch (const BackendUnavailable&) {
      const bool is_late = std::chrono::steady_clock::now() >= give_up;
      if (server_.process() == 0) {
        const std::string why = server_.last_words();
        if (is_late || why.find("in use") == std::string::npos) server_.fail(why);
        server_.start();
      } else if (is_late) {
        server_.fail(fmt::format("it did not answer within {} ms", patience_.count()));
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace timerbench
