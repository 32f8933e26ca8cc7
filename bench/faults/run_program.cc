#include "faults/run_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <utility>

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

struct Output {
  std::string text;
  bool is_late;
};

// What comes until the end, or until then.
Output read_all(int file, std::chrono::steady_clock::time_point give_up) {
  std::string text;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(give_up - std::chrono::steady_clock::now());
    pollfd waiting{.fd = file, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) == 0) {
      return {std::move(text), true};
    }
    std::array<char, 4096> bytes;
    const ssize_t size = read(file, bytes.data(), bytes.size());
    if (size == 0) return {std::move(text), false};
    if (size > 0) text.append(bytes.data(), static_cast<std::size_t>(size));
  }
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
  const auto [printed, is_late] = read_all(reader.fd, std::chrono::steady_clock::now() + kLongest);
  if (is_late) kill(process, SIGKILL);
  int status = 0;
  waitpid(process, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return printed;
  throw BackendUnavailable(fmt::format(
      "{} failed: {}; it needs root", fmt::join(arguments, " "),
      is_late ? fmt::format("it takes more than {} s", kLongest.count()) : last_line(printed)));
}

}  // namespace timerbench
