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

PrivateServer::Program beanstalk_program(int fsync_ms, std::chrono::milliseconds patience) {
  return {.name = "beanstalkd",
          .advice = kInstall,
          .arguments =
              [fsync_ms](const std::filesystem::path& folder) {
                return std::vector<std::string>{
                    "beanstalkd", "-l",   "unix:" + (folder / kSocketName).string(),
                    "-b",         folder, fmt::format("-f{}", fsync_ms)};
              },
          .probe =
              [patience](const std::filesystem::path& folder) {
                BeanstalkConnection probe(socket_in(folder), patience);
              },
          .patience = patience,
          .socket = kSocketName};
}

}  // namespace

PrivateBeanstalkServer::PrivateBeanstalkServer(int fsync_ms, std::chrono::milliseconds patience)
    : server_(beanstalk_program(fsync_ms, patience)) {}

BeanstalkEndpoint PrivateBeanstalkServer::endpoint() const { return socket_in(server_.folder()); }

}  // namespace timerbench
