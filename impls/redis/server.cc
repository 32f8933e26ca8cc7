#include "redis/server.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>

namespace timerbench {
namespace {

constexpr std::string_view kInstall =
    "install it (apt-get install redis-server) or name a running one in TIMERBENCH_REDIS_URL";

[[noreturn]] void fail(std::string_view what, std::string_view advice) {
  throw BackendUnavailable(
      fmt::format("cannot start a private redis-server: {}; {}", what, advice));
}

[[noreturn]] void fail_system_call(std::string_view name) {
  fail(fmt::format("{}: {}", name, std::strerror(errno)),
       "free some memory, processes or files, or name a running one in TIMERBENCH_REDIS_URL");
}

constexpr std::string_view kSocketName = "socket";

std::filesystem::path make_folder() {
  constexpr std::string_view kAdvice = "set TMPDIR to a folder with a short path, to be written to";
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  if (error) fail(fmt::format("TMPDIR is not a folder: {}", error.message()), kAdvice);
  std::string name = parent / "timerbench-redis-XXXXXX";
  if (name.size() + 1 + kSocketName.size() >= sizeof(sockaddr_un::sun_path)) {
    fail(fmt::format("{} is too long for a unix socket", name), kAdvice);
  }
  if (mkdtemp(name.data()) == nullptr) {
    fail(fmt::format("{}: {}", name, std::strerror(errno)), kAdvice);
  }
  return name;
}

// What the two processes below need. It is made before the fork: after a fork in a program with
// threads only system calls are safe.
struct Launch {
  int lifeline;
  int log;
  std::array<const char*, 14> server;
  std::array<const char*, 5> remover;
};

[[noreturn]] void run_server(const Launch& launch, pid_t keeper) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(EXIT_FAILURE);  // the keeper ended before prctl()
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  // The program may be pinned to one processor; the server uses any of them.
  cpu_set_t processors;
  std::memset(&processors, 0xff, sizeof(processors));
  sched_setaffinity(0, sizeof(processors), &processors);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(launch.server[0], const_cast<char* const*>(launch.server.data()));
  const auto piece = [](const char* text) {
    return iovec{const_cast<char*>(text), std::strlen(text)};
  };
  const iovec line[] = {piece(launch.server[0]), piece(": "), piece(strerrordesc_np(errno)),
                        piece("\n")};
  [[maybe_unused]] const auto written = writev(STDERR_FILENO, line, std::size(line));
  _exit(EXIT_FAILURE);
}

// REQUIRES: all signals are blocked.
[[noreturn]] void run_keeper(const Launch& launch) {
  setsid();
  // Closes the program's files: whoever reads its output waits until they are closed.
  dup2(launch.log, STDOUT_FILENO);
  dup2(launch.log, STDERR_FILENO);
  dup2(launch.lifeline, STDIN_FILENO);
  close_range(3, ~0U, 0);

  signal(SIGCHLD, SIG_DFL);  // the program may ignore it
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const int server_ended = signalfd(-1, &child, SFD_CLOEXEC);

  const pid_t keeper = getpid();
  const pid_t server = fork();
  if (server == 0) run_server(launch, keeper);
  if (server > 0) {
    std::array<pollfd, 2> events{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{server_ended, POLLIN, 0}};
    poll(events.data(), events.size(), -1);
    kill(server, SIGKILL);
    waitpid(server, nullptr, 0);
  }
  execv(launch.remover[0], const_cast<char* const*>(launch.remover.data()));
  _exit(EXIT_FAILURE);
}

}  // namespace

PrivateRedisServer::PrivateRedisServer(std::chrono::milliseconds patience)
    : owner_(getpid()), folder_(make_folder()) {
  try {
    launch();
    await_answer(patience);
  } catch (...) {
    stop();
    throw;
  }
}

PrivateRedisServer::~PrivateRedisServer() { stop(); }

RedisEndpoint PrivateRedisServer::endpoint() const {
  RedisEndpoint endpoint;
  endpoint.path = folder_ / kSocketName;
  return endpoint;
}

bool PrivateRedisServer::running() {
  if (keeper_ > 0 && waitpid(keeper_, nullptr, WNOHANG) != 0) keeper_ = 0;
  return keeper_ > 0;
}

void PrivateRedisServer::launch() {
  const std::string log_path = folder_ / "log";
  log_.reset(std::fopen(log_path.c_str(), "a+xe"));
  if (!log_) fail_system_call(log_path);
  std::array<int, 2> lifeline;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lifeline.data()) != 0) {
    fail_system_call("socketpair");
  }
  lifeline_ = lifeline[0];

  const std::string socket = endpoint().path;
  const Launch launch{
      .lifeline = lifeline[1],
      .log = fileno(log_.get()),
      .server = {"redis-server", "--port", "0", "--unixsocket", socket.c_str(), "--unixsocketperm",
                 "700", "--dir", folder_.c_str(), "--save", "", "--appendonly", "no", nullptr},
      .remover = {"/bin/rm", "-rf", "--", folder_.c_str(), nullptr}};

  // Blocked before the fork, so that the program's handlers never run in the keeper.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::fflush(nullptr);  // or the thread sanitizer writes what is buffered once more in the child
  keeper_ = fork();
  if (keeper_ == 0) run_keeper(launch);
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(lifeline[1]);
  if (keeper_ < 0) {
    errno = fork_error;
    fail_system_call("fork");
  }
}

void PrivateRedisServer::await_answer(std::chrono::milliseconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  for (;;) {
    try {
      RedisConnection probe(endpoint(), patience);
      return;
    } catch (const BackendUnavailable&) {
      if (!running()) fail(last_words(), kInstall);
      if (std::chrono::steady_clock::now() >= give_up) {
        fail(fmt::format("it did not answer within {} ms", patience.count()), kInstall);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void PrivateRedisServer::stop() noexcept {
  const bool own = getpid() == owner_;
  if (lifeline_ >= 0) {
    // A forked process may have a copy, so close() alone would not reach the keeper.
    if (own) shutdown(lifeline_, SHUT_RDWR);
    close(lifeline_);
  }
  if (!own) return;
  if (keeper_ > 0) {
    while (waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);  // if there was no keeper
}

// The last line of the server's log.
std::string PrivateRedisServer::last_words() const {
  std::string last = "it ended without a word";
  std::array<char, 512> line;
  std::rewind(log_.get());
  while (std::fgets(line.data(), line.size(), log_.get()) != nullptr) {
    const std::string_view text(line.data(), std::strcspn(line.data(), "\n"));
    if (!text.empty()) last = text;
  }
  return last;
}

RedisEndpoint redis_endpoint() {
  if (const char* url = std::getenv(kRedisUrlVariable); url != nullptr && *url != '\0') {
    return RedisEndpoint::parse(url);
  }
  static std::mutex mutex;
  static std::unique_ptr<PrivateRedisServer> server;
  const std::lock_guard lock(mutex);
  if (!server || !server->running()) server = std::make_unique<PrivateRedisServer>();
  return server->endpoint();
}

}  // namespace timerbench
