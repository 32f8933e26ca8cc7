#include "faults/run_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>

#include "core/backend_error.h"
#include "core/descriptor.h"

namespace timerbench {
namespace {

// PATH may lack the folders of root's programs. Empty: there is none.
std::string path_of(std::string_view name) {
  for (const std::string_view folder : {"/usr/sbin", "/sbin", "/usr/bin", "/bin"}) {
    std::string path = fmt::format("{}/{}", folder, name);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

constexpr std::chrono::seconds kLongest{30};

using Clock = std::chrono::steady_clock;

int ms_until(Clock::time_point when) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// What comes until the end, or until then.
std::string read_all(int file, Clock::time_point give_up) {
  std::string text;
  while (Clock::now() < give_up) {
    pollfd waiting{.fd = file, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, ms_until(give_up)) <= 0) continue;
    std::array<char, 4096> bytes;
    const ssize_t size = read(file, bytes.data(), bytes.size());
    if (size == 0) break;
    if (size > 0) text.append(bytes.data(), static_cast<std::size_t>(size));
  }
  return text;
}

// How it ended; none: it had to be killed.
std::optional<int> wait_for(pid_t process, Clock::time_point give_up) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(process, &status, WNOHANG)) == 0 && Clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (ended == process) return status;
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  return {};
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  const std::size_t end = text.rfind('\n');
  return text.empty() ? "it says nothing" : text.substr(end == text.npos ? 0 : end + 1);
}

}  // namespace

bool has_program(std::string_view name) { return !path_of(name).empty(); }

std::string run_program(const std::vector<std::string>& arguments, std::string_view advice) {
  const std::string path = path_of(arguments[0]);
  if (path.empty())
    throw BackendUnavailable(fmt::format("{} is missing; {}", arguments[0], advice));
  std::vector<const char*> words;
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  words.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw BackendUnavailable("too many files are open");
  const Descriptor reader(ends[0], "pipe");
  pid_t process = 0;
  {
    const Descriptor writer(ends[1], "pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, writer.fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, writer.fd, STDERR_FILENO);
    const int error = posix_spawn(&process, path.c_str(), &actions, nullptr,
                                  const_cast<char* const*>(words.data()), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw BackendUnavailable(fmt::format("{}: {}", path, std::strerror(error)));
  }
  const auto give_up = Clock::now() + kLongest;
  std::string printed = read_all(reader.fd, give_up);
  const std::optional<int> status = wait_for(process, give_up);
  if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return printed;
  const std::string command = fmt::format("{}", fmt::join(arguments, " "));
  if (!status) {
    throw BackendUnavailable(fmt::format("{} takes more than {} s", command, kLongest.count()));
  }
  throw BackendUnavailable(fmt::format("{} failed: {}", command, last_line(printed)));
}

}  // namespace timerbench
