// A program that a client of a durable queue starts for itself, because the library that it needs
// is of another language: requests go to it, and answers come back, as lines of JSON.
//
// The program reads requests from its standard input and writes an answer to each, in turn, to its
// standard output; both are one socket. It first writes {}, when it is ready. An answer with an
// "error" is a failure that it survived. It ends when its input ends, so it does not outlive this
// process, however that ends. It has a session of its own, so that a Ctrl-C does not end it before
// its client. bridge/serve.js does all this for programs of Node.js.
//
// Bytes that are no text travel as the characters U+0000 to U+00FF: to_text() and to_bytes().
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend_error.h"

namespace timerbench {

class Bridge {
 public:
  struct Program {
    std::string_view name;                // for messages: "the bridge to BullMQ"
    std::string_view advice;              // what to do if it cannot be started: "install it (...)"
    std::vector<std::string> arguments;   // the program first, which is searched on PATH
    std::filesystem::path log;            // of what it writes to its standard error
    std::chrono::milliseconds to_answer;  // how long it may take to answer a request
  };

  // How long it may take to be ready. 64 clients that start programs of Node.js at once took more
  // than 15 s on two processors.
  static constexpr std::chrono::seconds kLongestStart{60};

  // The arguments of a program of Node.js, FOLDER/bridge.js beside bridge.h; it says if Node.js is too
  // old.
  static std::vector<std::string> node(std::string_view folder, std::vector<std::string> arguments);

  // Returns when it is ready. Throws BackendUnavailable.
  explicit Bridge(Program program);
  // Kills it.
  ~Bridge();
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  // Throws BackendError. What was asked for may have been done all the same.
  nlohmann::json ask(const nlohmann::json& request);

  // False after it has ended, or has not answered in time: the next answer may be of an old
  // request.
  bool usable() const { return socket_ >= 0; }

  // None if it has ended.
  std::vector<pid_t> processes() const {
    return usable() ? std::vector{process_} : std::vector<pid_t>();
  }

  static std::string to_text(std::string_view bytes);
  static std::string to_bytes(std::string_view text);

 private:
  using Instant = std::chrono::steady_clock::time_point;

  void start();
  void send(std::string_view line, Instant give_up);
  nlohmann::json receive(Instant give_up);
  void await(short events, Instant give_up);
  void end();
  // Ends it. Throws "NAME: WHAT; ADVICE".
  [[noreturn]] void lose(std::string_view what, std::string_view advice);

  const Program program_;
  int socket_ = -1;    // -1: it has ended
  pid_t process_ = 0;  // 0: it has ended
  std::string input_;  // read, and not yet a whole line
};

}  // namespace timerbench
