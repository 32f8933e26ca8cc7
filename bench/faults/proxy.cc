#include "faults/proxy.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

namespace timerbench {
namespace {

[[noreturn]] void fail(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return address;
}

// Between a client and the server. All that both send is short, so it is written as it comes.
class Bridge {
 public:
  Bridge(int client, const std::filesystem::path& server) : ends_{client, connect_to(server)} {}

  bool is_open() const { return ends_[0] >= 0 && ends_[1] >= 0; }
  int end(std::size_t i) const { return ends_[i]; }

  // From an end to the other, which gets nothing if it is `swallowed`. Returns whether that went
  // well.
  bool carry(std::size_t from, bool swallowed) const {
    std::array<char, 1 << 16> bytes;
    const ssize_t size = recv(ends_[from], bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) return false;
    if (swallowed) return true;
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

Proxy::Proxy(std::filesystem::path socket)
    : socket_(std::move(socket)), behind_(socket_.string() + "~") {
  void* memory = mmap(nullptr, sizeof(std::atomic<Mode>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, /*fd=*/-1, /*offset=*/0);
  if (memory == MAP_FAILED) fail("mmap");
  shared_ = new (memory) std::atomic<Mode>(Mode::pass);
  struct stat status {};
  if (stat(socket_.c_str(), &status) != 0 || rename(socket_.c_str(), behind_.c_str()) != 0) {
    fail("rename");
  }
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(socket_);
  constexpr int kBacklog = 64;
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    fail("bind");
  }
  chmod(socket_.c_str(), status.st_mode & 07777);
  if (listen(listener, kBacklog) != 0) fail("listen");
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) fail("fork");
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(EXIT_FAILURE);
    run(listener);
  }
  close(listener);
}

Proxy::~Proxy() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  rename(behind_.c_str(), socket_.c_str());
  munmap(shared_, sizeof(*shared_));
}

void Proxy::run(int listener) const {
  constexpr int kLookMs = 2;  // for another mode
  std::vector<Bridge> bridges;
  std::vector<pollfd> files;
  for (Mode before = Mode::pass;;) {
    const Mode mode = shared_->load(std::memory_order_relaxed);
    // What was dropped between them cannot be made up for.
    const bool breaks = mode == Mode::refuse || (mode == Mode::pass && before != Mode::pass);
    before = mode;
    for (Bridge& bridge : bridges) {
      if (breaks) bridge.close();
    }
    std::erase_if(bridges, [](const Bridge& bridge) { return !bridge.is_open(); });
    files.assign(1, {.fd = listener, .events = POLLIN, .revents = 0});
    for (const Bridge& bridge : bridges) {
      for (std::size_t i = 0; i < 2; ++i) {
        const bool listens = mode != Mode::silence;
        files.push_back({.fd = listens ? bridge.end(i) : -1, .events = POLLIN, .revents = 0});
      }
    }
    poll(files.data(), files.size(), kLookMs);
    for (std::size_t i = 0; i < bridges.size(); ++i) {
      for (std::size_t end = 0; end < 2 && bridges[i].is_open(); ++end) {
        if (files[1 + 2 * i + end].revents == 0) continue;
        const bool swallowed = end == 1 && mode == Mode::swallow_answers;
        if (!bridges[i].carry(end, swallowed)) bridges[i].close();
      }
    }
    if ((files[0].revents & POLLIN) != 0) {
      const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) continue;
      Bridge bridge(client, behind_);
      if (mode == Mode::refuse || !bridge.is_open()) {
        bridge.close();
      } else {
        bridges.push_back(bridge);
      }
    }
  }
}

}  // namespace timerbench
