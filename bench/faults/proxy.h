// A proxy between the clients of a server and its unix socket, which can break their connections.
//
// It takes the place of the socket, and puts it back at the end; so clients notice nothing.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>

namespace timerbench {

class Proxy {
 public:
  enum class Mode : std::uint8_t {
    pass,
    refuse,           // closes each connection, and each new one
    swallow_answers,  // the server gets what is sent, but no answer comes back
    silence,          // nothing comes through, in either direction; nobody is told
  };

  // A process of its own. Throws std::system_error. REQUIRES: this process has one thread.
  explicit Proxy(std::filesystem::path socket);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // In effect some milliseconds later. What was held back by `silence` is dropped with its
  // connection: to pass again closes the connections of before.
  void set(Mode mode) { shared_->store(mode, std::memory_order_relaxed); }

 private:
  [[noreturn]] void run(int listener) const;

  const std::filesystem::path socket_, behind_;
  std::atomic<Mode>* shared_;
  pid_t process_ = 0;
};

}  // namespace timerbench
