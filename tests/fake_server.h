// A server on a unix socket that says what a test wants it to say.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "redis/connection.h"
#include "redis_testing.h"

namespace timerbench {

// Answers whatever it is sent with the given texts, one after the other; then hangs up, falls silent,
// or says and reads a little now and then, for some seconds.
class FakeServer {
 public:
  enum Ending { kHangUp, kSilence, kDrip };

  FakeServer(std::vector<std::string> answers, Ending ending,
             const std::string& socket_name = "socket") {
    endpoint_.path = folder_.path() + "/" + socket_name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    endpoint_.path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    listener_ = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        listen(listener_, 1) != 0) {
      std::abort();
    }
    thread_ = std::thread([this, answers = std::move(answers), ending] { serve(answers, ending); });
  }
  ~FakeServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  const std::string& folder() const { return folder_.path(); }
  const RedisEndpoint& endpoint() const { return endpoint_; }

  void wait_until_it_has_hung_up() {
    while (!hung_up_) std::this_thread::yield();
  }

 private:
  void serve(const std::vector<std::string>& answers, Ending ending) {
    const int client = accept(listener_, nullptr, nullptr);
    std::array<char, 65536> request;
    for (const std::string& answer : answers) {
      if (recv(client, request.data(), request.size(), 0) <= 0) break;
      send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    while (ending == kSilence && recv(client, request.data(), request.size(), 0) > 0) {
    }
    for (int i = 0; ending == kDrip && i < 500 && send(client, "x", 1, MSG_NOSIGNAL) == 1; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      recv(client, request.data(), request.size(), MSG_DONTWAIT);
    }
    close(client);
    hung_up_ = true;
  }

  EmptyFolder folder_;
  RedisEndpoint endpoint_;
  int listener_;
  std::atomic<bool> hung_up_ = false;
  std::thread thread_;
};

}  // namespace timerbench
