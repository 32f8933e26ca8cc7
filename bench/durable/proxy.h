// A proxy between the clients of a server and its unix socket, which counts what they send, and can
// break their connections.
//
// It takes the place of the socket, and puts it back at the end; so clients notice nothing.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>

#include "core/descriptor.h"
#include "durable/shared_array.h"

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

  // In effect as soon as the process runs. What was held back by `silence` is dropped with its
  // connection: to pass again closes the connections of before.
  void set(Mode mode);

  // That came through so far, in both directions.
  std::uint64_t bytes() const { return shared_[0].bytes.load(std::memory_order_relaxed); }

 private:
  [[noreturn]] void run(int listener);

  // The server's socket, which has another name meanwhile.
  struct Moved {
    explicit Moved(std::filesystem::path path);
    ~Moved();
    Moved(const Moved&) = delete;
    Moved& operator=(const Moved&) = delete;

    const std::filesystem::path socket, behind;
  };

  struct Shared {
    std::atomic<Mode> mode{Mode::pass};
    std::atomic<std::uint64_t> bytes{0};
  };

  SharedArray<Shared> shared_{1};
  const Moved moved_;
  const Descriptor changed_;  // an eventfd: there is another mode
  pid_t process_ = 0;
};

}  // namespace timerbench
