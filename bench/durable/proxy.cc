#include "durable/proxy.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "system/child_process.h"

namespace timerbench {
namespace {

[[noreturn]] void fail(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

// `file`: what the call has returned.
int opened(int file, const char* call) {
  if (file < 0) fail(call);
  return file;
}

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return address;
}

// Between a client and the server. All that both send is short, so it is written as it comes.
class Pipe {
 public:
  Pipe(int client, const std::filesystem::path& server) : ends_{client, connect_to(server)} {}

  bool is_open() const { return ends_[0] >= 0 && ends_[1] >= 0; }
  int end(std::size_t i) const { return ends_[i]; }

  // From an end to the other, which gets nothing if it is `swallowed`. Returns whether that went
  // well; counts what comes through.
  bool carry(std::size_t from, bool swallowed, std::atomic<std::uint64_t>& count) const {
    std::array<char, 1 << 16> bytes;
    const ssize_t size = recv(ends_[from], bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) return false;
    if (swallowed) return true;
    count.fetch_add(static_cast<std::uint64_t>(size), std::memory_order_relaxed);
    for (ssize_t sent = 0; sent < size;) {
      const ssize_t more = send(ends_[1 - from], bytes.data() + sent,
                                static_cast<std::size_t>(size - sent), MSG_NOSIGNAL);
      if (more < 0) return false;
      sent += more;
    }
    return true;
  }

  void close() {
    for (int& end : ends_) {
      if (end >= 0) ::close(std::exchange(end, -1));
    }
  }

 private:
  static int connect_to(const std::filesystem::path& path) {
    const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(path);
    if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
      return server;
    }
    ::close(server);
    return -1;
  }

  std::array<int, 2> ends_;  // the client, the server; -1: closed
};

}  // namespace

Proxy::Moved::Moved(std::filesystem::path path)
    : socket(std::move(path)), behind(socket.string() + "~") {
  if (rename(socket.c_str(), behind.c_str()) != 0) fail("rename");
}

Proxy::Moved::~Moved() { rename(behind.c_str(), socket.c_str()); }

Proxy::Proxy(std::filesystem::path socket)
    : moved_(std::move(socket)),
      changed_(opened(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"), "eventfd") {
  struct stat status {};
  if (stat(moved_.behind.c_str(), &status) != 0) fail("stat");
  const Descriptor listener(opened(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"),
                            "socket");
  const sockaddr_un address = address_of(moved_.socket);
  constexpr int kBacklog = 64;
  if (bind(listener.fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    fail("bind");
  }
  chmod(moved_.socket.c_str(), status.st_mode & 07777);
  if (listen(listener.fd, kBacklog) != 0) fail("listen");
  process_ = start_child([&] { run(listener.fd); });
}

Proxy::~Proxy() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void Proxy::set(Mode mode) {
  shared_[0].mode = mode;
  eventfd_write(changed_.fd, 1);
}

void Proxy::run(int listener) {
  std::vector<Pipe> pipes;
  std::vector<pollfd> files;
  for (Mode before = Mode::pass;;) {
    eventfd_t changes = 0;
    eventfd_read(changed_.fd, &changes);
    const Mode mode = shared_[0].mode;
    // What was dropped between them cannot be made up for.
    const bool breaks = mode == Mode::refuse || (mode == Mode::pass && before != Mode::pass);
    before = mode;
    for (Pipe& pipe : pipes) {
      if (breaks) pipe.close();
    }
    std::erase_if(pipes, [](const Pipe& pipe) { return !pipe.is_open(); });
    files.assign({{.fd = listener, .events = POLLIN, .revents = 0},
                  {.fd = changed_.fd, .events = POLLIN, .revents = 0}});
    const std::size_t first = files.size();  // of the pipes
    for (const Pipe& pipe : pipes) {
      for (std::size_t i = 0; i < 2; ++i) {
        const bool listens = mode != Mode::silence;
        files.push_back({.fd = listens ? pipe.end(i) : -1, .events = POLLIN, .revents = 0});
      }
    }
    poll(files.data(), files.size(), /*timeout=*/-1);
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      for (std::size_t end = 0; end < 2 && pipes[i].is_open(); ++end) {
        if (files[first + 2 * i + end].revents == 0) continue;
        const bool swallowed = end == 1 && mode == Mode::swallow_answers;
        if (!pipes[i].carry(end, swallowed, shared_[0].bytes)) pipes[i].close();
      }
    }
    if ((files[0].revents & POLLIN) != 0) {
      const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) continue;
      Pipe pipe(client, moved_.behind);
      if (mode == Mode::refuse || !pipe.is_open()) {
        pipe.close();
      } else {
        pipes.push_back(pipe);
      }
    }
  }
}

}  // namespace timerbench
