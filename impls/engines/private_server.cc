#include "engines/private_server.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <regex>
#include <system_error>
#include <thread>
#include <utility>

namespace timerbench {
namespace {

// Of a server and its children, once they are killed.
constexpr std::chrono::milliseconds kLongestEnd{5000};
// Of a server that was asked to end.
constexpr std::chrono::milliseconds kLongestLastWork{1000};
constexpr timespec kMillisecond{.tv_sec = 0, .tv_nsec = 1'000'000};

// `arguments` end with a null pointer.
[[noreturn]] void run_server(const char* const* arguments, pid_t keeper) {
  setpgid(0, 0);  // so that kill_server() ends its children too
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
  execvp(arguments[0], const_cast<char* const*>(arguments));
  const auto piece = [](const char* text) {
    return iovec{const_cast<char*>(text), std::strlen(text)};
  };
  const iovec line[] = {piece(arguments[0]), piece(": "), piece(strerrordesc_np(errno)),
                        piece("\n")};
  [[maybe_unused]] const auto written = writev(STDERR_FILENO, line, std::size(line));
  _exit(EXIT_FAILURE);
}

}  // namespace

// What the keeper and the server need. It is made before the fork: after a fork in a program with
// threads only system calls are safe.
struct PrivateServer::Launch {
  int lifeline;
  int log;
  std::vector<const char*> server;
  std::array<const char*, 5> remover;
  int last_signal;
};

// The server, as its parent sees it.
class PrivateServer::Keeper {
 public:
  // REQUIRES: all signals are blocked.
  [[noreturn]] static void run(const Launch& launch) {
    setsid();
    // Closes the program's files: whoever reads its output waits until they are closed.
    dup2(launch.log, STDOUT_FILENO);
    dup2(launch.log, STDERR_FILENO);
    dup2(launch.lifeline, STDIN_FILENO);
    close_range(3, ~0U, 0);
    signal(SIGCHLD, SIG_DFL);          // the program may ignore it
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // for await_all()
    Keeper keeper(launch);
    keeper.obey();
    keeper.ask_server_to_end();
    keeper.kill_server();
    execv(launch.remover[0], const_cast<char* const*>(launch.remover.data()));
    _exit(EXIT_FAILURE);
  }

 private:
  explicit Keeper(const Launch& launch) : launch_(launch) {}

  // Returns when the program has ended.
  void obey() {
    for (Order what; recv(STDIN_FILENO, &what, sizeof(what), 0) == sizeof(what);) {
      carry_out(what);
      send(STDIN_FILENO, &server_, sizeof(server_), MSG_NOSIGNAL);
    }
  }

  void carry_out(Order what) {
    if (server_ > 0 && waitpid(server_, nullptr, WNOHANG) != 0) server_ = 0;
    if (what == Order::kill) kill_server();
    if (what == Order::start && server_ == 0) start_server();
  }

  void start_server() {
    const pid_t keeper = getpid();
    const pid_t server = fork();
    if (server == 0) run_server(launch_.server.data(), keeper);
    if (server > 0) setpgid(server, server);  // if it has not come to do so itself
    server_ = server > 0 ? server : 0;
  }

  void ask_server_to_end() const {
    if (server_ == 0 || launch_.last_signal == SIGKILL) return;
    ::kill(server_, launch_.last_signal);
    for (int ms = 0; ms < kLongestLastWork.count(); ++ms) {
      siginfo_t ended{};
      // It stays a zombie, so that its number is that of its group for kill_server().
      waitid(P_PID, static_cast<id_t>(server_), &ended, WEXITED | WNOHANG | WNOWAIT);
      if (ended.si_pid != 0) return;
      nanosleep(&kMillisecond, nullptr);
    }
  }

  void kill_server() {
    if (server_ == 0) return;
    ::kill(-std::exchange(server_, 0), SIGKILL);
    await_all();
  }

  // Children of the server in groups of their own end a moment after it, as those of PostgreSQL do,
  // and write into its folder until then. One that waits for a disk that hangs does not end at all.
  static void await_all() {
    for (int ms = 0; ms < kLongestEnd.count(); ++ms) {
      pid_t ended = 0;
      while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) {
      }
      if (ended < 0) return;  // there are none
      nanosleep(&kMillisecond, nullptr);
    }
  }

  const Launch& launch_;
  pid_t server_ = 0;  // 0: it does not run
};

PrivateServer::PrivateServer(Program program) : program_(std::move(program)), owner_(getpid()) {
  constexpr std::string_view kAdvice = "set TMPDIR to a folder with a short path, to be written to";
  const auto fail_folder = [&](std::string_view what) {
    throw BackendUnavailable(
        fmt::format("cannot start a private {}: {}; {}", program_.name, what, kAdvice));
  };
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  if (error) fail_folder(fmt::format("TMPDIR is not a folder: {}", error.message()));
  std::string name = parent / fmt::format("timerbench-{}-XXXXXX", program_.name);
  if (name.size() + 1 + program_.socket.size() >= sizeof(sockaddr_un::sun_path)) {
    fail_folder(fmt::format("{} is too long for a unix socket", name));
  }
  if (mkdtemp(name.data()) == nullptr) {
    fail_folder(fmt::format("{}: {}", name, std::strerror(errno)));
  }
  folder_ = name;
  try {
    launch_keeper();
    start();
    await_answer();
  } catch (...) {
    end();
    throw;
  }
}

PrivateServer::~PrivateServer() { end(); }

void PrivateServer::kill() { order(Order::kill); }

void PrivateServer::start() {
  if (order(Order::start) == 0) fail("its parent process has ended, or cannot fork");
}

void PrivateServer::restart() {
  kill();
  start();
  await_answer();
}

void PrivateServer::await_answer() {
  // A server that starts again reads what it has kept.
  constexpr std::chrono::milliseconds kLongestReading = std::chrono::minutes(1);
  const auto patience = has_answered_ ? kLongestReading : program_.patience;
  const auto give_up = std::chrono::steady_clock::now() + patience;
  for (;;) {
    try {
      program_.probe(folder_);
      has_answered_ = true;
      return;
    } catch (const BackendUnavailable&) {
      const bool is_late = std::chrono::steady_clock::now() >= give_up;
      if (process() == 0) {
        const std::string why = last_words();
        const bool passes = !program_.passing_failure.empty() &&
                            why.find(program_.passing_failure) != std::string::npos;
        if (is_late || !passes) fail(why);
        start();
      } else if (is_late) {
        fail(fmt::format("it did not answer within {} ms", patience.count()));
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void PrivateServer::fail(std::string_view what) const {
  if (has_answered_) {
    throw DoesNotStartAgain(fmt::format("{} does not start again: {}", program_.name, what));
  }
  throw BackendUnavailable(
      fmt::format("cannot start a private {}: {}; {}", program_.name, what, program_.advice));
}

std::string PrivateServer::last_words() const {
  std::string last = "it ended without a word";
  std::array<char, 512> piece;  // of a line, which may be longer
  bool begins_line = true;
  std::rewind(log_.get());
  while (std::fgets(piece.data(), piece.size(), log_.get()) != nullptr) {
    const std::string_view text(piece.data(), std::strcspn(piece.data(), "\n"));
    if (begins_line && !text.empty()) last = text;
    begins_line = piece[text.size()] == '\n';
  }
  return std::regex_replace(last, std::regex("^(" + std::string(program_.stamp) + ")"), "");
}

void PrivateServer::launch_keeper() {
  const auto fail_system_call = [this](std::string_view name) {
    fail(fmt::format("{}: {}", name, std::strerror(errno)));
  };
  const std::string log_path = folder_ / "log";
  log_.reset(std::fopen(log_path.c_str(), "a+xe"));
  if (!log_) fail_system_call(log_path);
  std::array<int, 2> lifeline;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lifeline.data()) != 0) {
    fail_system_call("socketpair");
  }
  lifeline_ = lifeline[0];
  const auto longest = std::chrono::ceil<std::chrono::seconds>(longest_order());
  const timeval to_answer{.tv_sec = longest.count(), .tv_usec = 0};
  setsockopt(lifeline_, SOL_SOCKET, SO_RCVTIMEO, &to_answer, sizeof(to_answer));

  const std::vector<std::string> arguments = program_.arguments(folder_);
  Launch launch{.lifeline = lifeline[1],
                .log = fileno(log_.get()),
                .server = {},
                .remover = {"/bin/rm", "-rf", "--", folder_.c_str(), nullptr},
                .last_signal = program_.last_signal};
  for (const std::string& argument : arguments) launch.server.push_back(argument.c_str());
  launch.server.push_back(nullptr);

  // Blocked before the fork, so that the program's handlers never run in the keeper.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::fflush(nullptr);  // or the thread sanitizer writes what is buffered once more in the child
  keeper_ = fork();
  if (keeper_ == 0) Keeper::run(launch);
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(lifeline[1]);
  if (keeper_ < 0) {
    errno = fork_error;
    fail_system_call("fork");
  }
}

pid_t PrivateServer::order(Order what) {
  const std::lock_guard lock(mutex_);
  pid_t server = 0;
  if (send(lifeline_, &what, sizeof(what), MSG_NOSIGNAL) != sizeof(what)) return 0;
  ssize_t received = 0;
  do {  // a recv() with a limit is not restarted by itself after a signal
    received = recv(lifeline_, &server, sizeof(server), MSG_WAITALL);
  } while (received < 0 && errno == EINTR);
  if (received == sizeof(server)) return server;
  shutdown(lifeline_, SHUT_RDWR);  // a late answer would be taken for that to another order
  return 0;
}

std::chrono::milliseconds PrivateServer::longest_order() const {
  const auto last_work =
      program_.last_signal == SIGKILL ? std::chrono::milliseconds(0) : kLongestLastWork;
  return last_work + kLongestEnd + program_.patience;
}

void PrivateServer::end() noexcept {
  const bool own = getpid() == owner_;
  if (lifeline_ >= 0) {
    // A forked process may have a copy, so close() alone would not reach the keeper.
    if (own) shutdown(lifeline_, SHUT_RDWR);
    close(lifeline_);
  }
  if (!own) return;
  // One that is still there then removes the folder when it goes on.
  const auto give_up = std::chrono::steady_clock::now() + longest_order();
  while (keeper_ > 0 && waitpid(keeper_, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= give_up) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);  // if there was no keeper
}

}  // namespace timerbench
