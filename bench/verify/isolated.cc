#include "verify/isolated.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "core/backend_error.h"
#include "system/child_process.h"
#include "system/stop.h"
#include "trace/excerpt.h"

namespace timerbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{50};  // between two checks of a child
constexpr std::chrono::seconds kGrace{2};       // for a child to end when asked to

std::system_error system_error(const char* what) { return {errno, std::generic_category(), what}; }

// Memory shared with a child.
class SharedProgress {
 public:
  SharedProgress()
      : memory_(mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0)) {
    if (memory_ == MAP_FAILED) throw system_error("mmap");
    progress_ = new (memory_) Progress;
  }
  ~SharedProgress() { munmap(memory_, sizeof(Progress)); }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;

  Progress& operator*() { return *progress_; }
  Progress* operator->() { return progress_; }

 private:
  void* memory_;
  Progress* progress_;
};

// The form in a pipe: "+" or "-", the line, a zero, the evidence, a zero.
std::string encode(const Verdict& verdict) {
  return (verdict.is_ok ? "+" : "-") + verdict.line + '\0' + verdict.evidence + '\0';
}

// Nothing if the message is incomplete.
std::optional<Verdict> decode(const std::string& message) {
  const std::size_t end = message.find('\0');
  if (end == std::string::npos || message.back() != '\0' || end + 1 == message.size()) return {};
  return Verdict{message.front() == '+', message.substr(1, end - 1),
                 message.substr(end + 1, message.size() - end - 2)};
}

Verdict judged(const Judge& judge, Progress& progress) {
  try {
    return judge(progress);
  } catch (const BackendUnavailable& error) {
    return {false, fmt::format("UNAVAILABLE: {}", error.what())};
  } catch (const BackendLimit& error) {
    return {false, fmt::format("UNAVAILABLE: {}", error.what())};
  } catch (const std::bad_alloc&) {
    return {false, fmt::format("ERROR: oom: out of memory in {}", progress.stage())};
  } catch (const std::exception& error) {
    return {false, fmt::format("ERROR: {}: {}", progress.stage(), printable(error.what()))};
  }
}

void run_child(const Judge& judge, Progress& progress, int out) {
  dup2(STDERR_FILENO, STDOUT_FILENO);
  use_call_log(progress.calls);
  const std::string message = encode(judged(judge, progress));
  for (std::size_t sent = 0; sent < message.size();) {
    const ssize_t count = write(out, message.data() + sent, message.size() - sent);
    if (count < 0) break;
    sent += static_cast<std::size_t>(count);
  }
}

// The child process, until it has ended.
class Child {
 public:
  Child(const Judge& judge, Progress& progress) {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error("pipe");
    std::fflush(nullptr);
    ::signal(SIGCHLD, SIG_DFL);  // the parent may have ignored it
    in_ = ends[0];
    try {
      pid_ = start_child([&] { run_child(judge, progress, ends[1]); });
    } catch (...) {
      close(in_);
      close(ends[1]);
      throw;
    }
    close(ends[1]);
  }
  ~Child() {
    close(in_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      wait();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Reads the child's output for a moment. Returns whether there may be more.
  bool listen() {
    pollfd event{in_, POLLIN, 0};
    if (poll(&event, 1, kLook.count()) <= 0) return true;
    std::array<char, 4096> buffer;
    const ssize_t count = read(in_, buffer.data(), buffer.size());
    if (count > 0) message_.append(buffer.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
  }

  void signal(int number) const { kill(pid_, number); }
  const std::string& message() const { return message_; }

  // Returns its status.
  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
  int in_;
  std::string message_;
};

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) {
    return fmt::format("crash: the process ended itself, exit code {},", WEXITSTATUS(status));
  }
  const int number = WTERMSIG(status);
  if (number == SIGKILL) return "oom: killed, as the system does when memory is used up,";
  const char* const name = sigabbrev_np(number);
  return name != nullptr ? fmt::format("crash: SIG{}", name) : fmt::format("crash: {}", number);
}

Verdict failure(std::string_view what, const Progress& progress) {
  const std::string calls = progress.calls.text();
  return {false, fmt::format("ERROR: {} in {}", what, progress.stage()),
          calls.empty() ? "" : "  the last calls:\n" + calls};
}

}  // namespace

void Progress::begin(std::string_view stage) {
  const std::size_t size = std::min(stage.size(), kLongest - 1);
  for (std::size_t i = 0; i < kLongest; ++i) stage_[i] = i < size ? stage[i] : '\0';
  beat();
}

std::string Progress::stage() const {
  std::string stage;
  for (const auto& letter : stage_) {
    if (letter == '\0') break;
    stage += letter;
  }
  return stage;
}

Verdict judge_isolated(const Judge& judge, const ShowStage& show,
                       std::chrono::milliseconds patience) {
  SharedProgress progress;
  Child child(judge, *progress);
  std::uint64_t beats = 0;
  auto last_beat = Clock::now();
  std::optional<Clock::time_point> asked;  // when the child was asked to end
  while (child.listen()) {
    const auto now = Clock::now();
    if (const std::uint64_t so_far = progress->beats(); so_far != beats) {
      beats = so_far;
      last_beat = now;
      show(progress->stage());
    }
    if (interrupted() && !asked) {
      child.signal(SIGTERM);
      asked = now;
    }
    if (asked ? now > *asked + kGrace : now > last_beat + patience) {
      child.signal(SIGKILL);
      child.wait();
      if (asked) return {};
      return failure(fmt::format("timeout: nothing has happened for {} s",
                                 std::chrono::duration<double>(patience).count()),
                     *progress);
    }
  }
  const int status = child.wait();
  if (auto verdict = decode(child.message())) return *std::move(verdict);
  if (interrupted()) return {};
  return failure(how_it_ended(status), *progress);
}

}  // namespace timerbench
