#include "system/supervised_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "system/process_tree.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = 1 << 16;
constexpr std::size_t kKeptErrors = 1 << 12;
constexpr std::chrono::milliseconds kLook{50};  // between two looks at the stop flag
// Between two looks at its processes and what they have written. Each takes a millisecond from the
// program that is measured; in the time between, it may write some 100 MB, or start some thousand.
constexpr std::chrono::milliseconds kLookAtProcesses{200};
constexpr std::uint64_t kFiles = 4;           // of the largest size, that may be written
constexpr std::size_t kMostProcesses = 1000;  // at a time

std::system_error system_error(const char* what) { return {errno, std::generic_category(), what}; }

// What the supervisor tells.
struct End {
  int how = W_EXITCODE(127, 0);  // the program's status, as of wait()
  std::uint64_t written = 0;     // bytes, by the program and all that it started
};

// The two ends of a pipe, closed at the end unless released.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw system_error("pipe");
  }
  ~Pipe() {
    for (const int end : ends_) {
      if (end >= 0) close(end);
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int in() const { return ends_[1]; }
  int release_out() { return std::exchange(ends_[0], -1); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

[[noreturn]] void become(const std::vector<std::string>& arguments, int output, int errors,
                         std::uint64_t most_file_bytes, pid_t supervisor) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(EXIT_FAILURE);  // it ended before prctl()
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGCHLD}) {
    signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit limit{most_file_bytes, most_file_bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv.front(), argv.data());
  dprintf(STDERR_FILENO, "%s: %s\n", argv.front(), std::strerror(errno));
  _exit(127);
}

sigset_t signals_of_supervisor() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGCHLD);
  return signals;
}

// Starts the program, waits for its end or for SIGTERM, kills what is left, and tells the status.
// REQUIRES: these signals are blocked.
[[noreturn]] void supervise(const std::vector<std::string>& arguments, int output, int errors,
                            int status, std::uint64_t most_file_bytes, pid_t parent) {
  setpgid(0, 0);  // what kills the group of the parent must not kill this first
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const sigset_t awaited = signals_of_supervisor();
  signal(SIGCHLD, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(EXIT_FAILURE);  // the parent ended before prctl()

  const pid_t supervisor = getpid();
  const pid_t program = fork();
  if (program == 0) become(arguments, output, errors, most_file_bytes, supervisor);
  close(output);
  close(errors);
  End end;
  if (program > 0) end.how = 0;
  for (bool is_over = program < 0; !is_over;) {
    int number = 0;
    if (sigwait(&awaited, &number) != 0 || number == SIGTERM) break;
    int ended_how = 0;
    for (pid_t ended; (ended = waitpid(-1, &ended_how, WNOHANG)) > 0;) {
      if (ended != program) continue;
      is_over = true;
      end.how = ended_how;
    }
  }
  end_descendants();
  end.written = bytes_written(getpid());
  if (write(status, &end, sizeof end) < 0) _exit(EXIT_FAILURE);  // nobody listens any more
  _exit(EXIT_SUCCESS);
}

}  // namespace

SupervisedProgram::SupervisedProgram(const std::vector<std::string>& arguments,
                                     std::uint64_t most_file_bytes)
    : most_bytes_(kFiles * most_file_bytes) {
  Pipe output, errors, status;
  std::fflush(nullptr);
  const pid_t parent = getpid();
  // Blocked before the fork: end() may ask the supervisor to end before it runs.
  const sigset_t awaited = signals_of_supervisor();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &awaited, &before);
  supervisor_ = fork();
  if (supervisor_ != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (supervisor_ < 0) throw system_error("fork");
  if (supervisor_ == 0) {
    supervise(arguments, output.in(), errors.in(), status.in(), most_file_bytes, parent);
  }
  output_ = output.release_out();
  errors_ = errors.release_out();
  status_ = status.release_out();
}

SupervisedProgram::~SupervisedProgram() {
  end();
  for (const int descriptor : {output_, errors_, status_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

void SupervisedProgram::end() {
  if (supervisor_ == 0) return;
  kill(supervisor_, SIGTERM);
  while (waitpid(supervisor_, nullptr, 0) < 0 && errno == EINTR) continue;
  supervisor_ = 0;
}

bool SupervisedProgram::listen(Clock::time_point until) {
  if (ended_ && output_ < 0 && errors_ < 0) return false;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  const auto wait = std::clamp(left, std::chrono::milliseconds(0), kLook);
  std::array<pollfd, 3> events{
      {{output_, POLLIN, 0}, {errors_, POLLIN, 0}, {ended_ ? -1 : status_, POLLIN, 0}}};
  if (poll(events.data(), events.size(), static_cast<int>(wait.count())) <= 0) return !ended_;
  std::array<char, 1 << 16> buffer;
  const auto take = [&](int& descriptor, std::string& text) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
      told_bytes_ += static_cast<std::uint64_t>(count);
    } else if (count == 0 || errno != EINTR) {
      close(std::exchange(descriptor, -1));
    }
  };
  if (events[0].revents != 0) take(output_, lines_);
  if (events[1].revents != 0) take(errors_, last_errors_);
  if (last_errors_.size() > kKeptErrors) {
    last_errors_.erase(0, last_errors_.size() - kKeptErrors);
  }
  if (events[2].revents != 0) {
    End end;
    if (read(status_, &end, sizeof end) != sizeof end) end = {};
    ended_ = end.how;
    refuse_too_much(end.written);
  }
  return true;
}

void SupervisedProgram::look_at_processes() {
  const auto now = Clock::now();
  if (ended_ || now < next_look_) return;
  next_look_ = now + kLookAtProcesses;
  const std::vector<pid_t> processes = processes_of_trees({supervisor_});
  if (processes.size() > kMostProcesses + 1) {  // and the supervisor
    throw ProgramFailure(
        fmt::format("error: it has more than {} processes at a time", kMostProcesses));
  }
  std::uint64_t written = 0;
  for (const pid_t process : processes) written += bytes_written(process);
  refuse_too_much(written);
}

// What it has told is written, too, and not all of that has been read yet: a pipe is small.
void SupervisedProgram::refuse_too_much(std::uint64_t written) const {
  if (written > most_bytes_ + told_bytes_) {
    throw ProgramFailure(fmt::format("error: it writes more than {} MiB", most_bytes_ >> 20));
  }
  // It may take room without writing, by fallocate().
  std::error_code unknown;
  for (const fs::path& folder : {fs::temp_directory_path(unknown), fs::current_path(unknown)}) {
    if (fs::space(folder, unknown).available < most_bytes_) {
      throw ProgramFailure(fmt::format("error: {} has less than {} MiB of room, which it may take",
                                       folder.string(), most_bytes_ >> 20));
    }
  }
}

std::optional<std::string> SupervisedProgram::take_line(bool has_ended) {
  const std::size_t end = lines_.find('\n', searched_);
  if (end == std::string::npos && lines_.size() > kLongestLine) {
    throw ProgramFailure(
        fmt::format("error: it prints a line of more than {} bytes", kLongestLine));
  }
  searched_ = lines_.size();
  if (end == std::string::npos && !(has_ended && !lines_.empty())) return {};
  std::string line = lines_.substr(0, end);
  lines_.erase(0, end == std::string::npos ? end : end + 1);
  searched_ = 0;
  return line;
}

std::optional<std::string> SupervisedProgram::next_line(std::chrono::duration<double> patience,
                                                        const StopFlag& stop) {
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
  while (true) {
    look_at_processes();
    if (auto line = take_line(/*has_ended=*/false)) return line;
    if (stop) throw Interrupted();
    if (!listen(until)) break;
    if (!ended_ && Clock::now() >= until) {
      throw ProgramFailure(
          fmt::format("timeout: it prints nothing for {:.3g} s", patience.count()));
    }
  }
  if (*ended_ != 0) fail_by_status();
  return take_line(/*has_ended=*/true);
}

void SupervisedProgram::fail_by_status() {
  std::string why;
  if (WIFSIGNALED(*ended_)) {
    const int number = WTERMSIG(*ended_);
    const char* const name = sigabbrev_np(number);
    why = name != nullptr ? fmt::format("error: it ends by SIG{}", name)
                          : fmt::format("error: it ends by signal {}", number);
    if (number == SIGXFSZ) why += ": it writes too large a file";
  } else {
    why = fmt::format("error: it ends with exit code {}", WEXITSTATUS(*ended_));
  }
  // The last line that is not empty says most.
  std::string_view errors = last_errors_;
  while (!errors.empty() && (errors.back() == '\n' || errors.back() == ' '))
    errors.remove_suffix(1);
  if (!errors.empty()) why += fmt::format(": {}", errors.substr(errors.rfind('\n') + 1));
  throw ProgramFailure(why);
}

}  // namespace timerbench
