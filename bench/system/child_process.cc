#include "system/child_process.h"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace timerbench {

pid_t start_child(const std::function<void()>& work) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_FAILURE);  // the parent ended before prctl()
  work();
  _exit(EXIT_SUCCESS);
}

std::string how_it_failed(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("was ended by the signal {} ({})", signal, strsignal(signal));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) != EXIT_SUCCESS) {
    return fmt::format("has ended with the status {}", WEXITSTATUS(status));
  }
  return "";
}

}  // namespace timerbench
