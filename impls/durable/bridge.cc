#include "durable/bridge.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace timerbench {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// What an answer says must not move the cursor of a terminal.
std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char letter) { return letter < ' ' || letter == 0x7f; }, ' ');
  return text;
}

}  // namespace

std::vector<std::string> Bridge::node(std::string_view folder, std::vector<std::string> arguments) {
  const std::string bridges = TIMERBENCH_BRIDGES;
  arguments.insert(arguments.begin(), {"node", bridges + "/bridge/start.js",
                                       fmt::format("{}/{}/bridge.js", bridges, folder)});
  return arguments;
}

Bridge::Bridge(Program program) : program_(std::move(program)) {
  try {
    start();
    receive(Clock::now() + kLongestStart);
  } catch (const BackendError& error) {
    end();
    throw BackendUnavailable(fmt::format("cannot start {}; {}", error.what(), program_.advice));
  }
}

Bridge::~Bridge() { end(); }

void Bridge::start() {
  std::array<int, 2> sockets;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    throw BackendError(fmt::format("{}: {}", program_.name, std::strerror(errno)));
  }
  socket_ = sockets[0];
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, sockets[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, sockets[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, program_.log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (const std::string& argument : program_.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const int error =
      posix_spawnp(&process_, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close(sockets[1]);
  if (error != 0) {
    process_ = 0;
    throw BackendError(
        fmt::format("{}: {}: {}", program_.name, arguments[0], std::strerror(error)));
  }
}

json Bridge::ask(const json& request) {
  const auto give_up = Clock::now() + program_.to_answer;
  send(request.dump() + '\n', give_up);
  return receive(give_up);
}

void Bridge::send(std::string_view line, Instant give_up) {
  while (!line.empty()) {
    const ssize_t sent = ::send(socket_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      line.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      await(POLLOUT, give_up);
    } else if (errno != EINTR) {
      lose("it has ended", "find out why: perhaps it was killed for want of memory");
    }
  }
}

json Bridge::receive(Instant give_up) {
  std::array<char, 65536> bytes;
  std::size_t searched = 0;
  auto line_end = input_.find('\n');
  while (line_end == input_.npos) {
    searched = input_.size();
    await(POLLIN, give_up);
    const ssize_t count = recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
      lose("it has ended", "find out why: perhaps it was killed for want of memory");
    }
    if (count > 0) input_.append(bytes.data(), static_cast<std::size_t>(count));
    line_end = input_.find('\n', searched);
  }
  const json answer = json::parse(input_.begin(), input_.begin() + static_cast<long>(line_end),
                                  /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object()) lose("it answers what is no object of JSON", "see its log");
  input_.erase(0, line_end + 1);
  if (const auto error = answer.find("error"); error != answer.end() && error->is_string()) {
    throw BackendError(fmt::format("{}: {}", program_.name, printable(error->get<std::string>())));
  }
  return answer;
}

void Bridge::await(short events, Instant give_up) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - Clock::now());
  pollfd file{.fd = socket_, .events = events, .revents = 0};
  const int ready = left.count() > 0 ? poll(&file, 1, static_cast<int>(left.count())) : 0;
  if (ready == 0) {
    lose("it does not answer in time", "check that what it speaks to runs and is not busy");
  }
}

void Bridge::end() {
  if (socket_ >= 0) close(std::exchange(socket_, -1));
  if (process_ == 0) return;
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
}

void Bridge::lose(std::string_view what, std::string_view advice) {
  end();
  throw BackendError(fmt::format("{}: {}; {}", program_.name, what, advice));
}

std::string Bridge::to_text(std::string_view bytes) {
  std::string text;
  for (const char letter : bytes) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x80) {
      text.push_back(letter);
    } else {
      text.push_back(static_cast<char>(0xc0 | byte >> 6));
      text.push_back(static_cast<char>(0x80 | (byte & 0x3f)));
    }
  }
  return text;
}

std::string Bridge::to_bytes(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80 || i + 1 == text.size()) {
      bytes.push_back(text[i]);
    } else {
      bytes.push_back(
          static_cast<char>(byte << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f)));
    }
  }
  return bytes;
}

}  // namespace timerbench
