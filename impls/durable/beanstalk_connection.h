// A connection to a beanstalkd server: commands of its text protocol out, answers in, every wait
// bounded.
//
// Every failure is a BackendError of one line that names the server and says what to do; while
// connecting it is a BackendUnavailable. After one, usable() says whether the connection still works.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/backend_error.h"

namespace timerbench {

// The environment variable that names the server to use.
inline constexpr const char* kBeanstalkUrlVariable = "TIMERBENCH_BEANSTALKD_URL";

// Where a server listens.
struct BeanstalkEndpoint {
  std::string path;  // of a unix socket; empty: TCP
  std::string host;
  std::uint16_t port = 11300;

  // host:port or [IPv6 address]:port. Throws BackendUnavailable, which names the variable.
  static BeanstalkEndpoint parse(std::string_view url);

  std::string text() const;
};

class BeanstalkConnection {
 public:
  // Connects. Names are resolved with the patience of the system's resolver.
  BeanstalkConnection(BeanstalkEndpoint endpoint, std::chrono::milliseconds patience);
  ~BeanstalkConnection();
  BeanstalkConnection(const BeanstalkConnection&) = delete;
  BeanstalkConnection& operator=(const BeanstalkConnection&) = delete;

  // "RESERVED 17 5" and five bytes: a word, the first number, the body.
  struct Answer {
    std::string_view word;
    std::uint64_t number = 0;
    std::string_view body{};
  };
  // Takes the index of a command and its answer, and tells whether the answer is a good one.
  using Take = std::function<bool(std::size_t, const Answer&)>;

  // Sends all commands at once, each without its last line end; the server carries them out one
  // after the other. Passes on each answer as it comes; what it points to is gone afterwards. When
  // all are there, throws for the first that was no good one.
  // Each answer must be there as a whole within the patience after the one before, however slowly its
  // bytes come; for a synchronisation may precede each. The server may let it wait for so much
  // `longer`.
  void run(std::span<const std::string> commands, const Take& take,
           std::chrono::milliseconds longer = {});

  BackendError error(std::string_view what, std::string_view advice) const;

  // Whether it still works, as far as the client knows without asking.
  bool usable() const;
  // Not usable from now on; the server gives back what it has reserved.
  void close();

 private:
  void connect_to_path();
  void connect_to_host();
  bool connect_to(int family, const void* address, unsigned length);
  // Takes the next answer out of `input`; false if it is not there as a whole.
  bool parse(std::string_view& input, Answer& answer);
  void await(short events, std::chrono::steady_clock::time_point give_up);
  [[noreturn]] void lose(std::string_view what, std::string_view advice);

  const BeanstalkEndpoint endpoint_;
  const std::chrono::milliseconds patience_;
  int socket_ = -1;  // -1: it is lost
};

}  // namespace timerbench
