#include "system/stopped_trees.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "system/process_tree.h"

namespace timerbench {
namespace {

// Whether a byte came before the end.
bool receive(int socket, char& byte) {
  ssize_t got = 0;
  do {
    got = read(socket, &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

void say(int socket, bool what) {
  const char byte = what ? 1 : 0;
  send(socket, &byte, 1, MSG_NOSIGNAL);
}

// In a session of its own, so that what is sent to the group of the other process does not end it.
[[noreturn]] void be_guard(int line, const std::vector<pid_t>& roots,
                           std::chrono::nanoseconds patience) {
  setsid();
  const bool is_done = stop_trees(roots, patience);
  const std::vector<pid_t> stopped = processes_of_trees(roots);
  say(line, is_done);
  char byte = 0;
  const int signal = receive(line, byte) ? SIGCONT : SIGKILL;
  for (const pid_t process : stopped) kill(process, signal);
  _exit(0);
}

}  // namespace

StoppedTrees::StoppedTrees(const std::vector<pid_t>& roots, std::chrono::nanoseconds patience)
    : roots_(roots) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot stop a server");
  }
  line_ = ends[0];
  guard_ = fork();
  const int error = errno;
  if (guard_ == 0) {
    close(ends[0]);
    be_guard(ends[1], roots, patience);
  }
  close(ends[1]);
  if (guard_ < 0) {
    close(line_);
    throw std::system_error(error, std::generic_category(), "cannot stop a server");
  }
  char is_done = 0;
  if (receive(line_, is_done) && is_done != 0) return;
  let_go_on();
  throw std::runtime_error("a server does not stop");
}

void StoppedTrees::let_go_on() {
  say(line_, true);
  int status = 0;
  while (waitpid(guard_, &status, 0) < 0 && errno == EINTR) {
  }
  close(line_);
  if (WIFEXITED(status)) return;
  for (const pid_t process : processes_of_trees(roots_))
    kill(process, SIGCONT);  // the guard was killed
}

}  // namespace timerbench
