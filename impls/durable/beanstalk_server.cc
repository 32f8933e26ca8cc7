#include "durable/beanstalk_server.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

namespace timerbench {
namespace {

constexpr std::string_view kInstall =
    "install it (apt-get install beanstalkd) or name a running one in TIMERBENCH_BEANSTALKD_URL";

constexpr std::string_view kSocketName = "socket";

BeanstalkEndpoint socket_in(const std::filesystem::path& folder) {
  BeanstalkEndpoint endpoint;
  endpoint.path = folder / kSocketName;
  return endpoint;
}

// Throws BackendUnavailable unless the server answers. It listens before it has read its binlog.
void probe(const BeanstalkEndpoint& endpoint, std::chrono::milliseconds patience) {
  const std::string command = "stats";
  const auto take = [](std::size_t, const BeanstalkConnection::Answer&) { return true; };
  try {
    BeanstalkConnection(endpoint, patience).run({&command, 1}, take);
  } catch (const BackendError& error) {
    throw BackendUnavailable(error.what());
  }
}

PrivateServer::Program beanstalk_program(int fsync_ms, std::chrono::milliseconds patience) {
  return {.name = "beanstalkd",
          .advice = kInstall,
          .arguments =
              [fsync_ms](const std::filesystem::path& folder) {
                return std::vector<std::string>{
                    "beanstalkd", "-l",   "unix:" + (folder / kSocketName).string(),
                    "-b",         folder, fmt::format("-f{}", fsync_ms)};
              },
          .probe = [patience](
                       const std::filesystem::path& folder) { probe(socket_in(folder), patience); },
          .patience = patience,
          .socket = kSocketName};
}

}  // namespace

PrivateBeanstalkServer::PrivateBeanstalkServer(int fsync_ms, std::chrono::milliseconds patience)
    : server_(beanstalk_program(fsync_ms, patience)) {}

BeanstalkEndpoint PrivateBeanstalkServer::endpoint() const { return socket_in(server_.folder()); }

}  // namespace timerbench
