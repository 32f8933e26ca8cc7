#include "durable/beanstalk_server.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace timerbench {
namespace {

constexpr std::string_view kInstall =
    "install it (apt-get install beanstalkd) or name a running one in TIMERBENCH_BEANSTALKD_URL";

constexpr std::string_view kSocketName = "socket";

PrivateServer::Program beanstalk_program(int fsync_ms) {
  return {.name = "beanstalkd",
          .advice = kInstall,
          .arguments =
              [fsync_ms](const std::filesystem::path& folder) {
                return std::vector<std::string>{
                    "beanstalkd", "-l",   "unix:" + (folder / kSocketName).string(),
                    "-b",         folder, fmt::format("-f{}", fsync_ms)};
              },
          .socket = kSocketName};
}

}  // namespace

PrivateBeanstalkServer::PrivateBeanstalkServer(int fsync_ms, std::chrono::milliseconds patience)
    : patience_(patience), server_(beanstalk_program(fsync_ms)) {
  await_answer();
}

BeanstalkEndpoint PrivateBeanstalkServer::endpoint() const {
  BeanstalkEndpoint endpoint;
  endpoint.path = server_.folder() / kSocketName;
  return endpoint;
}

void PrivateBeanstalkServer::restart() {
  server_.kill();
  server_.start();
  await_answer();
}

void PrivateBeanstalkServer::await_answer() {
  const auto give_up = std::chrono::steady_clock::now() + patience_;
  for (;;) {
    try {
      BeanstalkConnection probe(endpoint(), patience_);
      return;
    } catch (const BackendUnavailable&) {
      if (process() == 0) server_.fail(server_.last_words());
      if (std::chrono::steady_clock::now() >= give_up) {
        server_.fail(fmt::format("it did not answer within {} ms", patience_.count()));
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace timerbench
