#include "durable/beanstalk_connection.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "engines/users_url.h"

namespace timerbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kStartIt =
    "start it, or correct TIMERBENCH_BEANSTALKD_URL, or unset the variable to use a private server";
constexpr std::string_view kIsItOne = "check that it is a beanstalkd server";
constexpr std::string_view kWhyItEnded =
    "find out why it ended: perhaps it was killed for want of memory";

constexpr std::size_t kLongestLine = 1024;  // of an answer
constexpr std::string_view kLineEnd = "\r\n";

[[noreturn]] void reject_url(std::string_view reason) {
  throw BackendUnavailable(fmt::format("{}: {}; write host:port, such as 127.0.0.1:11300",
                                       kBeanstalkUrlVariable, reason));
}

std::string_view advice_for(std::string_view word) {
  static constexpr std::pair<std::string_view, std::string_view> kAdvice[] = {
      {"OUT_OF_MEMORY", "give it more memory, or its binlog more space on the disk"},
      {"INTERNAL_ERROR", "see its log"},
      {"DRAINING", "it takes no more jobs until it is restarted; restart it"},
      {"JOB_TOO_BIG", "start it with -z 65535 or more"},
      {"BURIED", "give it more memory; the job is buried in its tube"},
  };
  for (const auto& [known, advice] : kAdvice) {
    if (word == known) return advice;
  }
  return kIsItOne;
}

}  // namespace

BeanstalkEndpoint BeanstalkEndpoint::parse(std::string_view url) {
  if (url.find("://") != url.npos) reject_url("it has a scheme");
  const auto colon = url.rfind(':');
  if (colon == url.npos) reject_url("there is no port");
  const std::string_view port = url.substr(colon + 1);
  std::string_view host = url.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {  // an IPv6 address
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != host.npos) {
    reject_url("an IPv6 address is not in brackets");
  }
  if (host.empty()) reject_url("there is no host");
  if (!is_host(host)) reject_url("the host is neither a name nor an address");
  BeanstalkEndpoint endpoint;
  endpoint.host = host;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (error != std::errc{} || end != port.data() + port.size() || endpoint.port == 0) {
    reject_url("the port is not a number from 1 to 65535");
  }
  return endpoint;
}

std::string BeanstalkEndpoint::text() const {
  if (!path.empty()) return path;
  const bool is_ipv6 = host.find(':') != host.npos;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
}

BeanstalkConnection::BeanstalkConnection(BeanstalkEndpoint endpoint,
                                         std::chrono::milliseconds patience) try
    : endpoint_(std::move(endpoint)), patience_(patience) {
  if (endpoint_.path.empty()) {
    connect_to_host();
  } else {
    connect_to_path();
  }
} catch (const BackendError& error) {
  throw BackendUnavailable(error.what());
}

BeanstalkConnection::~BeanstalkConnection() { close(); }

void BeanstalkConnection::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void BeanstalkConnection::connect_to_path() {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (endpoint_.path.size() >= sizeof(address.sun_path)) {
    throw error("its path is too long for a unix socket", "choose a shorter one");
  }
  std::ranges::copy(endpoint_.path, address.sun_path);
  if (!connect_to(AF_UNIX, &address, sizeof(address))) {
    lose(fmt::format("cannot connect: {}", std::strerror(errno)), kStartIt);
  }
}

void BeanstalkConnection::connect_to_host() {
  const addrinfo wanted{.ai_flags = AI_NUMERICSERV,
                        .ai_family = AF_UNSPEC,
                        .ai_socktype = SOCK_STREAM,
                        .ai_protocol = 0,
                        .ai_addrlen = 0,
                        .ai_addr = nullptr,
                        .ai_canonname = nullptr,
                        .ai_next = nullptr};
  addrinfo* found = nullptr;
  const std::string port = fmt::to_string(endpoint_.port);
  if (const int why = getaddrinfo(endpoint_.host.c_str(), port.c_str(), &wanted, &found);
      why != 0) {
    throw error(gai_strerror(why), kStartIt);
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (!connect_to(one->ai_family, one->ai_addr, one->ai_addrlen)) continue;
    const int yes = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    return;
  }
  lose(fmt::format("cannot connect: {}", std::strerror(errno)), kStartIt);
}

// Leaves the reason in errno if it returns false.
bool BeanstalkConnection::connect_to(int family, const void* address, unsigned length) {
  close();
  socket_ = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return false;
  const auto give_up = Clock::now() + patience_;
  while (connect(socket_, static_cast<const sockaddr*>(address), length) != 0) {
    if (errno == EINPROGRESS) {
      await(POLLOUT, give_up);
      int why = 0;
      socklen_t size = sizeof(why);
      getsockopt(socket_, SOL_SOCKET, SO_ERROR, &why, &size);
      errno = why;
      return why == 0;
    }
    // A unix socket whose queue of clients is full cannot be waited for.
    if (errno != EAGAIN || Clock::now() >= give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

bool BeanstalkConnection::usable() const {
  char unexpected;
  return socket_ >= 0 && recv(socket_, &unexpected, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         errno == EAGAIN;
}

void BeanstalkConnection::run(std::span<const std::string> commands, const Take& take,
                              std::chrono::milliseconds longer) {
  if (socket_ < 0) lose("the connection was lost before", "run this again");
  std::string output, input;
  for (const std::string& command : commands) output.append(command).append(kLineEnd);
  std::string_view unsent = output;
  std::size_t answered = 0;
  auto give_up = Clock::now() + patience_ + longer;
  std::optional<BackendError> refused;
  while (answered < commands.size()) {
    // Reads while it sends, because the server reads no further when its answers do not get away.
    await(static_cast<short>(unsent.empty() ? POLLIN : POLLIN | POLLOUT), give_up);
    if (!unsent.empty()) {
      const ssize_t sent = send(socket_, unsent.data(), unsent.size(), MSG_NOSIGNAL);
      if (sent > 0) unsent.remove_prefix(static_cast<std::size_t>(sent));
      // What it said before it hung up is still to be read.
      if (sent < 0 && errno == EPIPE) unsent = {};
    }
    std::array<char, 65536> bytes;
    const ssize_t received = recv(socket_, bytes.data(), bytes.size(), 0);
    if (received == 0) lose("connection lost", kWhyItEnded);
    if (received < 0) {
      if (errno == EAGAIN || errno == EINTR) continue;
      lose(fmt::format("connection lost: {}", std::strerror(errno)), kWhyItEnded);
    }
    input.append(bytes.data(), static_cast<std::size_t>(received));
    std::string_view rest = input;
    for (Answer answer; answered < commands.size() && parse(rest, answer); ++answered) {
      give_up = Clock::now() + patience_ + longer;
      if (take(answered, answer) || refused) continue;
      refused = error(fmt::format("it answers {}", answer.word), advice_for(answer.word));
    }
    input.erase(0, input.size() - rest.size());
  }
  if (!input.empty()) lose("an answer that nobody asked for", kIsItOne);
  if (refused) throw *refused;
}

bool BeanstalkConnection::parse(std::string_view& input, Answer& answer) {
  const auto line_end = input.find(kLineEnd);
  if (line_end == input.npos) {
    if (input.size() > kLongestLine) lose("an answer without an end", kIsItOne);
    return false;
  }
  const std::string_view line = input.substr(0, line_end);
  const auto number_at = [&](std::size_t space) {
    std::uint64_t number = 0;
    if (space != line.npos) {
      std::from_chars(line.data() + space + 1, line.data() + line.size(), number);
    }
    return number;
  };
  answer = {.word = line.substr(0, line.find(' ')), .number = number_at(line.find(' '))};
  const auto is_of_word = [](char letter) {
    return (letter >= 'A' && letter <= 'Z') || letter == '_';
  };
  if (!std::ranges::all_of(answer.word, is_of_word))
    lose("an answer of another protocol", kIsItOne);
  std::size_t length = line_end + kLineEnd.size();
  if (answer.word == "RESERVED" || answer.word == "FOUND" || answer.word == "OK") {
    const std::size_t bytes = number_at(line.rfind(' '));
    if (bytes > (std::size_t{1} << 30)) lose("a body of more than a gigabyte", kIsItOne);
    answer.body = input.substr(length, bytes);
    length += bytes + kLineEnd.size();
  }
  if (input.size() < length) return false;
  input.remove_prefix(length);
  return true;
}

void BeanstalkConnection::await(short events, Clock::time_point give_up) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - Clock::now()).count();
    pollfd one{socket_, events, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) lose(std::strerror(errno), "run this again");
    if (ready == 0 && left <= 0) {
      lose(fmt::format("no answer within {} ms", patience_.count()),
           "check that it runs and is not busy");
    }
  }
}

BackendError BeanstalkConnection::error(std::string_view what, std::string_view advice) const {
  std::string text = fmt::format("beanstalkd at {}: {}; {}", endpoint_.text(), what, advice);
  // What the server has written must not move the cursor of a terminal.
  std::ranges::replace_if(
      text, [](unsigned char letter) { return letter < ' ' || letter == 0x7f; }, '?');
  return BackendError(text);
}

void BeanstalkConnection::lose(std::string_view what, std::string_view advice) {
  close();
  throw error(what, advice);
}

}  // namespace timerbench
