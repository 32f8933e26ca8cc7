#include "redis/connection.h"

#include <fcntl.h>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>
#include <utility>

#include "engines/users_url.h"

namespace timerbench {
namespace {

constexpr std::string_view kStartIt =
    "start it, or correct {}, or unset the variable to use a private server";
constexpr std::string_view kWhyItEnded =
    "find out why it ended: perhaps it was killed for want of memory";

constexpr std::string_view kAsking[] = {"ASKING"};

// The URL of an environment variable is wrong.
struct BadUrl {
  std::string_view reason;
};

[[noreturn]] void reject_url(std::string_view reason) { throw BadUrl{reason}; }

std::optional<int> parse_number(std::string_view text, int base = 10) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::string percent_decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    const auto byte = parse_number(digits, 16);
    if (digits.size() != 2 || !byte) {
      reject_url("a % in user or password is not followed by two hexadecimal digits");
    }
    decoded += static_cast<char>(*byte);
    i += 2;
  }
  return decoded;
}

timeval to_timeval(std::chrono::milliseconds duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(duration - seconds);
  return {.tv_sec = seconds.count(), .tv_usec = rest.count()};
}

// What to do about an error reply. Found anywhere in it: before Redis 7 an error inside a script
// stands in the middle of another.
std::string advice_for(std::string_view reply, const char* variable) {
  static constexpr std::pair<std::string_view, std::string_view> kAdvice[] = {
      {"NOAUTH", "put user and password into {}"},
      {"WRONGPASS", "correct user and password in {}"},
      {"without any password", "take the password out of {}"},
      {"NOPERM", "grant the user this command and the keys timerbench:*"},
      {"OOM", "raise its maxmemory or choose a smaller size"},
      {"LOADING", "wait until it has loaded its data"},
      {"WRONGTYPE", "another program uses the key; name a database of your own in {}"},
      {"READONLY", "it is a replica; name its primary in {}"},
      {"MOVED", "it is part of a cluster; name a single server in {}"},
      {"cluster support disabled", "name a node of a cluster in {}"},
      {"CLUSTERDOWN", "start the nodes that are missing, or give their slots to others"},
      {"TRYAGAIN", "wait until its slot has been moved"},
      {"SELECT is not allowed", "a cluster has no databases; take the number out of {}"},
      {"DB index", "choose a database that it has"},
      {"max number of clients", "raise its maxclients or close other clients"},
  };
  for (const auto& [word, advice] : kAdvice) {
    if (reply.find(word) != reply.npos) return fmt::format(fmt::runtime(advice), variable);
  }
  return "see its log";
}

}  // namespace

RedisEndpoint RedisEndpoint::parse(std::string_view url, const char* variable) try {
  constexpr std::string_view kUnix = "unix://";
  constexpr std::string_view kRedis = "redis://";
  RedisEndpoint endpoint;
  endpoint.variable = variable;

  if (url.starts_with(kUnix)) {
    endpoint.path = url.substr(kUnix.size());
    if (!endpoint.path.starts_with('/')) reject_url("the path of the socket is not absolute");
    if (endpoint.path.find_first_of("?#") != url.npos) reject_url("nothing may follow the path");
    // hiredis would cut it short.
    if (endpoint.path.size() >= sizeof(sockaddr_un::sun_path)) {
      reject_url("the path of the socket is too long for a unix socket");
    }
    return endpoint;
  }
  if (!url.starts_with(kRedis)) reject_url("it is neither redis:// nor unix://");
  url.remove_prefix(kRedis.size());

  if (const auto slash = url.find('/', url.rfind('@') + 1); slash != url.npos) {
    if (const auto database = url.substr(slash + 1); !database.empty()) {
      const auto number = parse_number(database);
      if (!number) reject_url("the database is not a number");
      endpoint.database = *number;
    }
    url = url.substr(0, slash);
  }
  if (const auto at = url.rfind('@'); at != url.npos) {
    const auto colon = url.find(':');
    if (colon >= at) reject_url("there is a user but no password");
    endpoint.user = percent_decode(url.substr(0, colon));
    endpoint.password = percent_decode(url.substr(colon + 1, at - colon - 1));
    if (endpoint.password.empty()) reject_url("the password is empty");
    url.remove_prefix(at + 1);
  }
  if (url.starts_with('[')) {  // an IPv6 address
    const auto bracket = url.find(']');
    if (bracket == url.npos) reject_url("a bracket is not closed");
    endpoint.host = url.substr(1, bracket - 1);
    url.remove_prefix(bracket + 1);
  } else {
    endpoint.host = url.substr(0, url.find(':'));
    url.remove_prefix(endpoint.host.size());
  }
  if (!url.empty()) {
    const auto port = parse_number(url.substr(1));
    if (url[0] != ':' || !port || *port < 1 || *port > 65535) {
      reject_url("the port is not a number from 1 to 65535");
    }
    endpoint.port = *port;
  }
  if (endpoint.host.empty()) reject_url("there is no host");
  if (!is_host(endpoint.host)) reject_url("the host is neither a name nor an address");
  return endpoint;
} catch (const BadUrl& bad) {
  throw BackendUnavailable(
      fmt::format("{}: {}; write redis://[user:password@]host[:port][/db] or unix:///path",
                  variable, bad.reason));
}

std::string RedisEndpoint::url() const {
  if (!path.empty()) return "unix://" + path;
  const bool ipv6 = host.find(':') != host.npos;
  return fmt::format("redis://{}{}{}:{}/{}", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port,
                     database);
}

RedisConnection::RedisConnection(RedisEndpoint endpoint, std::chrono::milliseconds patience) try
    : endpoint_(std::move(endpoint)), patience_(patience) {
  connect();
  const Instant give_up = end_of_patience();
  const auto say = [&](Command command) {
    exchange(REDIS_REPLY_STATUS, Words(command.begin(), command.size()), give_up);
  };
  if (!endpoint_.user.empty()) {
    say({"AUTH", endpoint_.user, endpoint_.password});
  } else if (!endpoint_.password.empty()) {
    say({"AUTH", endpoint_.password});
  }
  if (endpoint_.database != 0) say({"SELECT", std::to_string(endpoint_.database)});
  say({"PING"});
} catch (const BackendError& error) {
  throw BackendUnavailable(error.what());
}

void RedisConnection::connect() {
  const timeval timeout = to_timeval(patience_);
  context_.reset(endpoint_.path.empty()
                     ? redisConnectWithTimeout(endpoint_.host.c_str(), endpoint_.port, timeout)
                     : redisConnectUnixWithTimeout(endpoint_.path.c_str(), timeout));
  if (!context_) throw std::bad_alloc();
  if (context_->err != 0) {
    throw error(fmt::format("cannot connect: {}", context_->errstr),
                fmt::format(kStartIt, endpoint_.variable));
  }
  fcntl(context_->fd, F_SETFD, FD_CLOEXEC);
}

RedisConnection::Reply RedisConnection::call(int type, Words command) {
  const Instant give_up = end_of_patience();
  if (asking_) exchange(REDIS_REPLY_STATUS, kAsking, give_up);
  return exchange(type, command, give_up);
}

RedisConnection::Reply RedisConnection::exchange(int type, Words command, Instant give_up) {
  append(command);
  flush(give_up);
  const auto late = settle(1, give_up);
  Reply reply = read(give_up);
  if (late) throw *late;
  check(*reply, type);
  return reply;
}

void RedisConnection::post(Words command) {
  append(command);
  if (appended_ >= kDepth) send();
}

void RedisConnection::send() {
  const Instant give_up = end_of_patience();
  flush(give_up);
  while (unanswered_ > kDepth) check(*read(give_up), REDIS_REPLY_INTEGER);
}

void RedisConnection::sync() {
  const Instant give_up = end_of_patience();
  flush(give_up);
  if (const auto late = settle(0, give_up)) throw *late;
}

std::optional<RedisReplyError> RedisConnection::settle(std::size_t left, Instant give_up) {
  std::optional<RedisReplyError> first;
  while (unanswered_ > left) {
    const Reply reply = read(give_up);
    try {
      check(*reply, REDIS_REPLY_INTEGER);
    } catch (const RedisReplyError& error) {
      if (!first) first = error;
    }
  }
  return first;
}

void RedisConnection::ask(Command command, std::chrono::milliseconds longest) {
  const Instant give_up = end_of_patience();
  if (asking_) exchange(REDIS_REPLY_STATUS, kAsking, give_up);
  append(Words(command.begin(), command.size()));
  flush(give_up);
  is_asked_ = true;
  give_up_ = Clock::now() + longest;
}

RedisConnection::Reply RedisConnection::answer_by(Instant when) {
  Reply reply = read_by(std::min(when, give_up_));
  if (!reply && Clock::now() >= give_up_) lose_patience();
  if (!reply) return nullptr;
  is_asked_ = false;
  check(*reply, kAnyType);
  return reply;
}

bool RedisConnection::is_to_master() {
  const Reply role = call(REDIS_REPLY_ARRAY, {"ROLE"});
  const redisReply& name = *role->element[0];
  return std::string_view(name.str, name.len) == "master";
}

bool RedisConnection::usable() const {
  if (lost_ || awaits_posts()) return !lost_;
  char next;
  const ssize_t read = recv(context_->fd, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return (read > 0 && is_asked_) || (read < 0 && errno == EAGAIN);
}

void RedisConnection::interrupt() { shutdown(context_->fd, SHUT_RDWR); }

BackendError RedisConnection::error(std::string_view what, std::string_view advice) const {
  std::string text = fmt::format("redis at {}: {}; {}", endpoint_.url(), what, advice);
  // What the user and the server have written must not move the cursor of a terminal.
  const auto is_control = [](unsigned char letter) { return letter < ' ' || letter == 0x7f; };
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return BackendError(text);
}

void RedisConnection::append(Words command) {
  assert(!is_asked_);
  auto out = std::back_inserter(output_);
  fmt::format_to(out, FMT_COMPILE("*{}\r\n"), command.size());
  for (const std::string_view word : command) {
    fmt::format_to(out, FMT_COMPILE("${}\r\n{}\r\n"), word.size(), word);
  }
  ++appended_;
  ++unanswered_;
}

void RedisConnection::flush(Instant give_up) {
  std::string_view rest = output_;
  while (!lost_ && !rest.empty()) {
    const ssize_t sent =
        ::send(context_->fd, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EPIPE) {
      break;  // It hung up. What it said before that is still to be read.
    } else if (errno == EAGAIN) {
      if (!await(POLLOUT, give_up)) lose_patience();
    } else if (errno != EINTR) {
      lose();
    }
  }
  output_.clear();
  appended_ = 0;
}

RedisConnection::Reply RedisConnection::read(Instant give_up) {
  Reply reply = read_by(give_up);
  if (!reply) lose_patience();
  return reply;
}

// Not redisGetReply(), which waits for each part of a reply anew. What is there is read in any case.
RedisConnection::Reply RedisConnection::read_by(Instant when) {
  if (lost_) lose();
  void* reply = nullptr;
  for (bool is_over = false;;) {
    if (redisGetReplyFromReader(context_.get(), &reply) != REDIS_OK) lose();
    if (reply != nullptr) break;
    if (is_over) return nullptr;
    is_over = Clock::now() >= when;
    if (await(POLLIN, when) && redisBufferRead(context_.get()) != REDIS_OK) lose();
  }
  --unanswered_;
  return Reply(static_cast<redisReply*>(reply));
}

bool RedisConnection::await(short events, Instant when) {
  for (;;) {
    const auto left =
        std::max<std::chrono::nanoseconds>(when - Clock::now(), std::chrono::nanoseconds(0));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    pollfd socket{.fd = context_->fd, .events = events, .revents = 0};
    const int ready = ppoll(&socket, 1, &timeout, nullptr);
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) lose();
  }
}

void RedisConnection::check(const redisReply& reply, int type) const {
  if (reply.type == REDIS_REPLY_ERROR) {
    const std::string_view text(reply.str, reply.len);
    throw RedisReplyError(error(text, advice_for(text, endpoint_.variable)).what(), text);
  }
  if (type != kAnyType && reply.type != type) {
    throw error("an answer of an unexpected kind", "check that it is a Redis server");
  }
}

// Reports why the connection does not work, from errno and the context, and gives it up.
void RedisConnection::lose() {
  const int number = errno;
  if (std::exchange(lost_, true)) {
    throw error("the connection was lost before", "run this again");
  }
  if (context_->err == REDIS_ERR_OOM) throw std::bad_alloc();
  if (context_->err == REDIS_ERR_PROTOCOL) {
    throw error(context_->errstr, "check that it is a Redis server");
  }
  const auto lost = [this](std::string_view what, std::string_view advice) {
    return RedisAnswerLost(error(what, advice).what());
  };
  if (context_->err == REDIS_ERR_EOF) throw lost("connection lost", kWhyItEnded);
  if (number == EAGAIN) {
    throw lost(fmt::format("no answer within {} ms", patience_.count()),
               "check that it runs and is not busy");
  }
  throw lost(fmt::format("connection lost: {}", std::strerror(number)), kWhyItEnded);
}

void RedisConnection::lose_patience() {
  errno = EAGAIN;  // as a read that has timed out
  lose();
}

}  // namespace timerbench
