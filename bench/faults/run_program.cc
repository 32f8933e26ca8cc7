#include "faults/run_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "core/backend_error.h"

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

}  // namespace

bool has_program(std::string_view name) { return !path_of(name).empty(); }

void run_program(const std::vector<std::string>& arguments, std::string_view advice) {
  const std::string path = path_of(arguments[0]);
  if (path.empty())
    throw BackendUnavailable(fmt::format("{} is missing; {}", arguments[0], advice));
  std::vector<const char*> words;
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t process = 0;
  int status = 0;
  const bool has_succeeded = posix_spawn(&process, path.c_str(), &actions, nullptr,
                                         const_cast<char* const*>(words.data()), environ) == 0 &&
                             waitpid(process, &status, 0) == process && WIFEXITED(status) &&
                             WEXITSTATUS(status) == 0;
  posix_spawn_file_actions_destroy(&actions);
  if (!has_succeeded) {
    throw BackendUnavailable(fmt::format("{} failed; it needs root", fmt::join(arguments, " ")));
  }
}

}  // namespace timerbench
