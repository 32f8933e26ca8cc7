// A server that this program starts for itself: in a new temporary folder of mode 0700, and gone
// with the folder when the program ends.
//
// A small process, the keeper, is the server's parent. It waits until the program ends, however it
// ends (exit, a signal, kill -9), then kills the server and removes the folder. Until then it kills
// and starts the server as it is told, and the folder stays. With the server it kills the processes
// of its group, and waits a while for its other children. The keeper has a session of its own and
// blocks all signals, so that a Ctrl-C does not end the server while the program is still cleaning
// up. A keeper that does not answer in time, as when the machine hangs, counts as ended. If the
// keeper itself is killed, the server dies with it
// (PR_SET_PDEATHSIG). That signal is sent when the thread that forked ends; the keeper has only one
// thread, and so it is the parent, not the thread that made this object.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend_error.h"

namespace timerbench {

class PrivateServer {
 public:
  using Folder = std::filesystem::path;

  struct Program {
    std::string_view name;    // of the server, for messages: "redis-server"
    std::string_view advice;  // what to do if it cannot be started: "install it (...)"
    // The arguments, the program first, which is searched on PATH.
    std::function<std::vector<std::string>(const Folder&)> arguments;
    // Throws BackendUnavailable while the server does not answer.
    std::function<void(const Folder&)> probe;
    std::chrono::milliseconds patience;  // to wait for an answer
    // The longest name of a unix socket in the folder.
    std::string_view socket = "socket";
    // A server whose last words hold this is started again: a killed one has left something that
    // goes by itself. Empty: none.
    std::string_view passing_failure = "";
    // A regular expression: what a line of its log begins with, as the time and the process, which
    // messages leave out. Empty: nothing.
    std::string_view stamp = "";
    // The signal at which the server ends at once, and removes what would outlive its folder. At the
    // end it gets this one, and a second later SIGKILL.
    int last_signal = SIGKILL;
  };

  // Makes the folder and the keeper, and starts the server. Returns when it answers. Throws
  // BackendUnavailable.
  explicit PrivateServer(Program program);
  // Returns when the server has ended and the folder is gone.
  ~PrivateServer();

  PrivateServer(const PrivateServer&) = delete;
  PrivateServer& operator=(const PrivateServer&) = delete;

  const Folder& folder() const { return folder_; }
  // Where a server that has one listens.
  Folder socket() const { return folder_ / program_.socket; }
  // Of the server; 0 if it has ended.
  pid_t process() { return order(Order::tell); }

  // As by kill -9. Returns when it has ended; the folder stays.
  void kill();
  // Kills it, if it runs, and starts it again with what is in its folder. Returns when it answers.
  // Throws BackendUnavailable.
  void restart();

 private:
  enum class Order : char { start, kill, tell };
  class Keeper;
  struct Launch;

  void launch_keeper();
  void start();
  void await_answer();
  // Throws BackendUnavailable with "cannot start a private redis-server: WHAT; ADVICE", or, if it has
  // answered before, DoesNotStartAgain.
  [[noreturn]] void fail(std::string_view what) const;
  // The last line that the server wrote, or its begin if it is long, without its stamp.
  std::string last_words() const;
  // Returns the server's process after it; 0 if there is none, or if the keeper has ended.
  pid_t order(Order what);
  // How long the keeper may take for an order.
  std::chrono::milliseconds longest_order() const;
  void end() noexcept;

  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  const Program program_;
  pid_t owner_;  // a process forked from the owner leaves the server alone
  Folder folder_;
  std::unique_ptr<std::FILE, CloseFile> log_;  // of the server; readable even after its removal
  std::mutex mutex_;                           // one order at a time
  int lifeline_ = -1;                          // a socket to the keeper that closes with the owner
  pid_t keeper_ = 0;                           // 0: none, or ended
  bool has_answered_ = false;                  // once
};

}  // namespace timerbench
