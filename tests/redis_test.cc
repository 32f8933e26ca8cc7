// The Redis backends: the private server and its end, URLs and passwords, everything that a server
// can do wrong, and the queues themselves. Every server in here is started by the test.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/backend_error.h"
#include "fake_server.h"
#include "redis/connection.h"
#include "redis/link.h"
#include "redis/redis_zset.h"
#include "redis/redis_zset_poll.h"
#include "redis/server.h"
#include "redis_testing.h"
#include "time_limit.h"
#include "trace/model.h"

namespace timerbench {
namespace {

using namespace std::chrono_literals;
using Fired = std::vector<std::pair<TimerId, Tick>>;

[[maybe_unused]] const int kNoUrl = unsetenv(kRedisUrlVariable);

constexpr Tick kTwoTo53 = Tick{1} << 53;

std::string info(RedisConnection& connection, const std::string& section,
                 const std::string& field) {
  std::istringstream lines(connection.call(REDIS_REPLY_STRING, {"INFO", section})->str);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(field + ":")) return line.substr(field.size() + 1);
  }
  return "";
}

pid_t process_of(const RedisEndpoint& endpoint) {
  RedisConnection connection(endpoint);
  return std::stoi(info(connection, "server", "process_id"));
}

// A field of /proc/PID/status; empty if there is no such process.
std::string status_of(pid_t process, const std::string& field) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word; status >> word;) {
    if (word == field + ":" && status >> word) return word;
  }
  return "";
}

// Nothing may be left of it but a zombie: not every container reaps the orphans in it.
bool ended(pid_t process) {
  const std::string state = status_of(process, "State");
  return state.empty() || state == "Z";
}

pid_t parent_of(pid_t process) { return std::stoi(status_of(process, "PPid")); }

std::string config(RedisConnection& connection, std::string_view name) {
  const auto reply = connection.call(REDIS_REPLY_ARRAY, {"CONFIG", "GET", name});
  return reply->element[1]->str;
}

void configure(RedisConnection& connection, std::string_view name, std::string_view value) {
  connection.call(REDIS_REPLY_STATUS, {"CONFIG", "SET", name, value});
}

long long keys(RedisConnection& connection) {
  return connection.call(REDIS_REPLY_INTEGER, {"DBSIZE"})->integer;
}

// --- The private server ---

TEST(PrivateServer, ListensOnlyOnASocketInAFolderOfItsOwn) {
  const PrivateRedisServer server;
  struct stat folder;
  ASSERT_EQ(stat(server.folder().c_str(), &folder), 0);
  EXPECT_TRUE(S_ISDIR(folder.st_mode));
  EXPECT_EQ(folder.st_mode & 07777, 0700U);
  RedisConnection connection(server.endpoint());
  EXPECT_EQ(config(connection, "port"), "0");
  EXPECT_EQ(config(connection, "save"), "");
  EXPECT_EQ(config(connection, "appendonly"), "no");
  EXPECT_EQ(config(connection, "daemonize"), "no");
  EXPECT_EQ(config(connection, "dir"), server.folder());
}

TEST(PrivateServer, IsGoneWhenTheDestructorReturns) {
  std::optional<PrivateRedisServer> server(std::in_place);
  const auto folder = server->folder();
  const pid_t process = process_of(server->endpoint());
  EXPECT_TRUE(std::filesystem::exists(folder));
  EXPECT_FALSE(ended(process));
  server.reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_TRUE(ended(process));
}

// A program of one function, in a process group of its own, that tells of its server.
class Program {
 public:
  explicit Program(const std::function<void()>& rest) {
    std::array<int, 2> report;
    if (pipe(report.data()) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) {
      setpgid(0, 0);
      const RedisEndpoint endpoint = redis_endpoint();
      const std::string text = std::to_string(process_of(endpoint)) + " " + endpoint.path + "\n";
      if (write(report[1], text.data(), text.size()) < 0) std::abort();
      rest();
      std::exit(EXIT_SUCCESS);
    }
    close(report[1]);
    std::FILE* const in = fdopen(report[0], "r");
    std::array<char, 256> path;
    EXPECT_EQ(std::fscanf(in, "%d %255s", &server_, path.data()), 2);
    std::fclose(in);
    socket_ = path.data();
  }
  ~Program() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  pid_t process() const { return process_; }
  bool server_gone() const {
    return ended(server_) && !std::filesystem::exists(socket_.parent_path());
  }

 private:
  pid_t process_;
  pid_t server_ = 0;
  std::filesystem::path socket_;
};

TEST(PrivateServer, EndsWhenTheProgramExits) {
  const Program program([] {});
  EXPECT_TRUE(soon([&] { return program.server_gone(); }));
}

TEST(PrivateServer, EndsWhenTheProgramIsKilled) {
  for (const int signal : {SIGINT, SIGTERM, SIGKILL, SIGSEGV}) {
    const Program program([signal] {
      std::signal(signal, SIG_DFL);  // A sanitizer would report SIGSEGV at length.
      pause();
    });
    EXPECT_FALSE(program.server_gone());
    kill(program.process(), signal);
    EXPECT_TRUE(soon([&] { return program.server_gone(); })) << strsignal(signal);
  }
}

TEST(PrivateServer, IsTidiedUpThoughTheProgramIgnoresItsChildren) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  std::filesystem::path folder;
  {
    PrivateRedisServer server;
    folder = server.folder();
    EXPECT_TRUE(server.running());
    kill(process_of(server.endpoint()), SIGKILL);
    EXPECT_TRUE(soon([&] { return !server.running(); }));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  std::signal(SIGCHLD, before);
}

volatile std::sig_atomic_t interrupted = 0;

TEST(PrivateServer, SurvivesCtrlCUntilTheProgramHasTidiedUp) {
  // The program inherits it: the signal may come at once.
  const auto before = std::signal(SIGINT, [](int) { interrupted = 1; });
  const Program program([] {
    RedisZset queue(QueueConfig{.capacity = 1});
    while (interrupted == 0) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(50ms);
    try {
      queue.advance(1, IgnoreExpiry{});
    } catch (const BackendError&) {
      _exit(EXIT_FAILURE);
    }
  });
  std::signal(SIGINT, before);
  kill(-program.process(), SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(program.process(), &status, 0), program.process());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) << status;
  EXPECT_TRUE(program.server_gone());
}

TEST(PrivateServer, OutlivesTheThreadThatStartedIt) {
  std::optional<PrivateRedisServer> server;
  std::thread([&] { server.emplace(); }).join();
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(server->running());
  RedisConnection connection(server->endpoint());
}

TEST(PrivateServer, IsNotStoppedByAForkedProcessThatExits) {
  const RedisEndpoint endpoint = redis_endpoint();
  const pid_t child = fork();
  if (child == 0) std::exit(EXIT_SUCCESS);
  waitpid(child, nullptr, 0);
  RedisConnection connection(endpoint);
  EXPECT_EQ(redis_endpoint().path, endpoint.path);
}

TEST(PrivateServer, StopsThoughAForkedProcessLivesOn) {
  std::optional<PrivateRedisServer> server(std::in_place);
  const pid_t process = process_of(server->endpoint());
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(EXIT_SUCCESS);
  }
  server.reset();
  EXPECT_TRUE(ended(process));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(PrivateServer, IsReplacedIfItHasEnded) {
  const RedisEndpoint first = redis_endpoint();
  kill(process_of(first), SIGKILL);
  EXPECT_TRUE(soon([&] { return redis_endpoint().path != first.path; }));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(first.path).parent_path()));
  RedisConnection connection(redis_endpoint());
}

TEST(PrivateServer, DiesWithItsKeeper) {
  std::optional<PrivateRedisServer> server(std::in_place);
  const auto folder = server->folder();
  const pid_t process = process_of(server->endpoint());
  const pid_t keeper = parent_of(process);
  ASSERT_EQ(parent_of(keeper), getpid());
  kill(keeper, SIGTERM);  // of no effect
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(ended(process));
  kill(keeper, SIGKILL);
  EXPECT_TRUE(soon([&] { return ended(process); }));
  server.reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(PrivateServer, InheritsNoFilesAndNoProcessorFromTheProgram) {
  const EmptyFolder folder;
  std::FILE* const leaky = std::fopen((folder.path() + "/leaky").c_str(), "w");
  cpu_set_t before, one;
  sched_getaffinity(0, sizeof(before), &before);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  sched_setaffinity(0, sizeof(one), &one);
  const PrivateRedisServer server;
  sched_setaffinity(0, sizeof(before), &before);
  std::fclose(leaky);

  const pid_t process = process_of(server.endpoint());
  for (const pid_t each : {process, parent_of(process)}) {
    for (const auto& file :
         std::filesystem::directory_iterator("/proc/" + std::to_string(each) + "/fd")) {
      std::error_code ignored;
      const auto target = std::filesystem::read_symlink(file, ignored);
      EXPECT_NE(target.filename(), "leaky");
    }
  }
  cpu_set_t processors;
  sched_getaffinity(process, sizeof(processors), &processors);
  EXPECT_GE(CPU_COUNT(&processors), CPU_COUNT(&before));
}

// A redis-server that is a shell script, alone on PATH.
class FakeProgram {
 public:
  explicit FakeProgram(const std::string& script) {
    const std::string file = folder_.path() + "/redis-server";
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }

 private:
  EmptyFolder folder_;
  ScopedVariable path_{"PATH", folder_.path()};
};

TEST(PrivateServer, SaysWhatIsMissing) {
  const EmptyFolder temporary;
  const ScopedVariable folder("TMPDIR", temporary.path());
  const ScopedVariable path("PATH", temporary.path());
  const std::string error = error_of<BackendUnavailable>([] { PrivateRedisServer(); });
  expect_contains(error, {"redis-server: No such file", "apt-get install redis-server",
                          "TIMERBENCH_REDIS_URL"});
  EXPECT_TRUE(temporary.empty());
}

TEST(PrivateServer, RepeatsTheLastWordsOfAServerThatDies) {
  const FakeProgram fake("echo first; echo 'Out of luck'; exit 1");
  const EmptyFolder temporary;
  const ScopedVariable folder("TMPDIR", temporary.path());
  expect_contains(error_of<BackendUnavailable>([] { PrivateRedisServer(); }), {"Out of luck"});
  EXPECT_TRUE(temporary.empty());
}

TEST(PrivateServer, DoesNotWaitForeverForAServerThatIsSilent) {
  const FakeProgram fake("exec /bin/sleep 100");
  const EmptyFolder temporary;
  const ScopedVariable folder("TMPDIR", temporary.path());
  expect_contains(error_of<BackendUnavailable>([] { PrivateRedisServer(50ms); }),
                  {"did not answer within 50 ms"});
  EXPECT_TRUE(temporary.empty());
}

TEST(PrivateServer, DoesNotWaitForeverForAKeeperThatHangs) {
  constexpr auto kLongest = 7s;  // 5 s for the end of the server's children, and its patience
  const EmptyFolder temporary;
  const ScopedVariable folder("TMPDIR", temporary.path());
  std::optional<PrivateRedisServer> server;
  for (const TimeLimit limit; !server;) {  // a busy machine may need longer to start it
    try {
      server.emplace(1s);
    } catch (const BackendUnavailable&) {
      if (limit.is_over()) throw;
    }
  }
  const pid_t keeper = parent_of(server->process());
  kill(keeper, SIGSTOP);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(server->process(), 0);
  const auto middle = std::chrono::steady_clock::now();
  EXPECT_LT(middle - start, kLongest);
  EXPECT_EQ(server->process(), 0);
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - middle, kLongest);
  kill(keeper, SIGCONT);
  EXPECT_TRUE(soon([&] { return temporary.empty(); }));
  waitpid(keeper, nullptr, 0);
}

TEST(PrivateServer, SaysThatThereIsNoEmptyFolder) {
  const ScopedVariable folder("TMPDIR", "/no/such/folder");
  expect_contains(error_of<BackendUnavailable>([] { PrivateRedisServer(); }), {"TMPDIR"});
}

TEST(PrivateServer, SaysThatTheEmptyFolderIsTooDeepForASocket) {
  const EmptyFolder temporary;
  const std::string deep = temporary.path() + "/" + std::string(100, 'x');
  std::filesystem::create_directory(deep);
  const ScopedVariable folder("TMPDIR", deep);
  expect_contains(error_of<BackendUnavailable>([] { PrivateRedisServer(); }),
                  {"set TMPDIR", "too long for a unix socket"});
  EXPECT_TRUE(std::filesystem::is_empty(deep));
}

// --- URLs ---

TEST(RedisUrl, NamesAUnixSocket) {
  const auto endpoint = RedisEndpoint::parse("unix:///run/redis/redis.sock");
  EXPECT_EQ(endpoint.path, "/run/redis/redis.sock");
  EXPECT_EQ(endpoint.url(), "unix:///run/redis/redis.sock");
}

TEST(RedisUrl, NamesAHost) {
  const auto plain = RedisEndpoint::parse("redis://example.org");
  EXPECT_EQ(plain.path, "");
  EXPECT_EQ(plain.host, "example.org");
  EXPECT_EQ(plain.port, 6379);
  EXPECT_EQ(plain.database, 0);
  EXPECT_EQ(plain.user, "");
  EXPECT_EQ(plain.password, "");

  const auto full = RedisEndpoint::parse("redis://a%6En:p%40s%3As%2F@example.org:7000/12");
  EXPECT_EQ(full.host, "example.org");
  EXPECT_EQ(full.port, 7000);
  EXPECT_EQ(full.database, 12);
  EXPECT_EQ(full.user, "ann");
  EXPECT_EQ(full.password, "p@s:s/");
  EXPECT_EQ(full.url(), "redis://example.org:7000/12");

  const auto password = RedisEndpoint::parse("redis://:secret@example.org/");
  EXPECT_EQ(password.user, "");
  EXPECT_EQ(password.password, "secret");
  EXPECT_EQ(password.database, 0);

  const auto ipv6 = RedisEndpoint::parse("redis://[::1]:7000/1");
  EXPECT_EQ(ipv6.host, "::1");
  EXPECT_EQ(ipv6.port, 7000);
  EXPECT_EQ(ipv6.url(), "redis://[::1]:7000/1");
}

TEST(RedisUrl, IsRejectedWithTheNameOfTheVariable) {
  for (const std::string url : {"localhost:6379",
                                "http://localhost",
                                "rediss://localhost",
                                "redis://",
                                "redis:///1",
                                "redis://:secret@",
                                "redis://secret@host",
                                "redis://ann:@host",
                                "redis://a:secret%4@host",
                                "redis://a:secret%zz@host",
                                "redis://host:",
                                "redis://host:0",
                                "redis://host:65536",
                                "redis://host:port",
                                "redis://host:-1",
                                "redis://host/x",
                                "redis://host/-1",
                                "redis://host/1/2",
                                "redis://host/1?x=2",
                                "redis://host?password=secret",
                                "redis://host#secret",
                                "redis://ho st",
                                "unix:///run/x?password=secret",
                                "redis://[::1",
                                "redis://[::1]x",
                                "unix://",
                                "unix://relative"}) {
    SCOPED_TRACE(url);
    const std::string error = error_of<BackendUnavailable>([&] { RedisEndpoint::parse(url); });
    expect_contains(error, {"TIMERBENCH_REDIS_URL", "redis://[user:password@]host"});
    EXPECT_EQ(error.find("secret"), error.npos) << error;
  }
  expect_contains(error_of<BackendUnavailable>(
                      [] { RedisEndpoint::parse("unix:///" + std::string(200, 'x')); }),
                  {"too long"});
}

TEST(RedisUrl, EmptyIsAsGoodAsNone) {
  const ScopedVariable url(kRedisUrlVariable, "");
  EXPECT_TRUE(redis_endpoint().path.ends_with("/socket"));
}

// --- Reaching a server ---

// A redis-server on a TCP port. `admin` was connected before any password was set.
struct TcpServer {
  PrivateRedisServer server;
  RedisConnection admin{server.endpoint()};
  int port = free_port();

  TcpServer() { configure(admin, "port", std::to_string(port)); }

  std::string url(const std::string& credentials = "", const std::string& rest = "") const {
    return "redis://" + credentials + "127.0.0.1:" + std::to_string(port) + rest;
  }

  static int free_port() {
    const int probe = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(probe, reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
    getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size);
    close(probe);
    return ntohs(address.sin_port);
  }
};

// Arms and fires one timer on the server that the URL names.
void use(const std::string& url) {
  const ScopedVariable variable(kRedisUrlVariable, url);
  RedisZset queue(QueueConfig{.capacity = 1});
  queue.schedule(0, 1);
  EXPECT_EQ(queue.advance(1, IgnoreExpiry{}), 1U);
}

TEST(RedisServer, IsReachedByUnixSocket) {
  const PrivateRedisServer server;
  use("unix://" + server.endpoint().path);
}

TEST(RedisServer, IsReachedByTcpInTheDatabaseNamed) {
  TcpServer server;
  const ScopedVariable variable(kRedisUrlVariable, server.url("", "/3"));
  RedisZset queue(QueueConfig{.capacity = 1});
  queue.schedule(0, 1);
  queue.advance(0, IgnoreExpiry{});
  EXPECT_EQ(keys(server.admin), 0);
  server.admin.call(REDIS_REPLY_STATUS, {"SELECT", "3"});
  EXPECT_EQ(keys(server.admin), 1);
}

TEST(RedisServer, TellsWhichKeyStaysIfItCannotBeDeleted) {
  TcpServer server;
  server.admin.call(REDIS_REPLY_STATUS,
                    {"ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all", "-unlink"});
  const ScopedVariable variable(kRedisUrlVariable, server.url("ann:pw@"));
  auto queue = std::make_unique<RedisZset>(QueueConfig{.capacity = 1});
  queue->schedule(0, 1);
  queue->advance(0, IgnoreExpiry{});
  const std::string key = queue->key();
  testing::internal::CaptureStderr();
  queue.reset();
  const std::string told = testing::internal::GetCapturedStderr();
  expect_contains(told, {"timerbench: cannot clean up: redis at ", "NOPERM", "its key " + key,
                         "redis-cli unlink " + key});
  EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
  EXPECT_EQ(keys(server.admin), 1);
}

TEST(RedisServer, WantsTheRightPassword) {
  TcpServer server;
  configure(server.admin, "requirepass", "s3cret/@");
  use(server.url(":s3cret%2F%40@"));
  use(server.url("default:s3cret%2F%40@"));
  const std::string missing = error_of<BackendUnavailable>([&] { use(server.url()); });
  expect_contains(missing, {server.url("", "/0"), "NOAUTH", "TIMERBENCH_REDIS_URL"});
  const std::string wrong = error_of<BackendUnavailable>([&] { use(server.url(":guess@")); });
  expect_contains(wrong, {server.url("", "/0"), "WRONGPASS", "TIMERBENCH_REDIS_URL"});
  EXPECT_EQ(wrong.find("guess"), wrong.npos) << wrong;
}

TEST(RedisServer, KnowsUsersAndTheirRights) {
  TcpServer server;
  server.admin.call(REDIS_REPLY_STATUS,
                    {"ACL", "SETUSER", "ann", "on", ">pw", "~timerbench:*", "+@all"});
  server.admin.call(REDIS_REPLY_STATUS,
                    {"ACL", "SETUSER", "bob", "on", ">pw", "~other:*", "+@all"});
  server.admin.call(REDIS_REPLY_STATUS,
                    {"ACL", "SETUSER", "eve", "on", ">pw", "~timerbench:*", "+ping"});
  use(server.url("ann:pw@"));
  expect_contains(error_of([&] { use(server.url("bob:pw@")); }), {"NOPERM", "timerbench:*"});
  expect_contains(error_of<BackendUnavailable>([&] { use(server.url("eve:pw@")); }), {"NOPERM"});
}

TEST(RedisServer, RefusesAPasswordThatItDoesNotHaveAndADatabaseThatItDoesNotHave) {
  const TcpServer server;
  expect_contains(error_of<BackendUnavailable>([&] { use(server.url(":pw@")); }),
                  {"take the password out"});
  expect_contains(error_of<BackendUnavailable>([&] { use(server.url("", "/16")); }),
                  {"DB index is out of range", "choose a database"});
}

TEST(RedisServer, MayNotBeThere) {
  const std::string port = std::to_string(TcpServer::free_port());
  expect_contains(error_of<BackendUnavailable>([&] { use("redis://127.0.0.1:" + port); }),
                  {"redis://127.0.0.1:" + port + "/0", "Connection refused", "start it"});
  expect_contains(error_of<BackendUnavailable>([] { use("unix:///no/such/socket"); }),
                  {"unix:///no/such/socket", "No such file", "unset the variable"});
  const std::string escape = error_of<BackendUnavailable>([] { use("unix:///no/\x1b[31mred\n"); });
  expect_contains(escape, {"unix:///no/?[31mred?: cannot connect"});
}

TEST(RedisServer, MayHaveNoRoomForAClient) {
  TcpServer server;
  configure(server.admin, "maxclients", "1");
  expect_contains(error_of<BackendUnavailable>([&] { use(server.url()); }),
                  {"max number of clients", "raise its maxclients"});
}

// --- Servers that misbehave ---

const std::string kPong = "+PONG\r\n";
const std::string kLoading = "-LOADING Redis is loading the dataset in memory\r\n";

TEST(BrokenServer, IsLoading) {
  const FakeServer fake({kLoading}, FakeServer::kSilence);
  expect_contains(
      error_of<BackendUnavailable>([&] { RedisConnection connection(fake.endpoint()); }),
      {fake.endpoint().url(), "LOADING", "wait until it has loaded"});
}

TEST(BrokenServer, StartsToLoadInTheMiddle) {
  const FakeServer fake({kPong, kLoading, ":1\r\n"}, FakeServer::kSilence);
  RedisConnection connection(fake.endpoint());
  expect_contains(error_of<RedisReplyError>([&] { connection.call(REDIS_REPLY_INTEGER, {"X"}); }),
                  {fake.endpoint().url(), "LOADING"});
  EXPECT_EQ(connection.call(REDIS_REPLY_INTEGER, {"X"})->integer, 1);
}

TEST(BrokenServer, IsSilent) {
  const FakeServer fake({}, FakeServer::kSilence);
  expect_contains(
      error_of<BackendUnavailable>([&] { RedisConnection connection(fake.endpoint(), 50ms); }),
      {fake.endpoint().url(), "no answer within 50 ms"});
}

TEST(BrokenServer, FallsSilentInTheMiddleOfAReply) {
  const FakeServer fake({kPong, "*2\r\n$3\r\nab"}, FakeServer::kSilence);
  constexpr auto kPatience = 300ms;
  RedisConnection connection(fake.endpoint());
  connection.set_patience(kPatience);
  expect_contains(error_of([&] { connection.call(REDIS_REPLY_ARRAY, {"X"}); }),
                  {"no answer within 300 ms"});
  const auto before = std::chrono::steady_clock::now();
  expect_contains(error_of([&] { connection.call(REDIS_REPLY_ARRAY, {"X"}); }), {"lost before"});
  EXPECT_LT(std::chrono::steady_clock::now() - before, kPatience);
}

// Each letter comes within the patience, and the reply does not.
TEST(BrokenServer, DripsItsReply) {
  const FakeServer fake({kPong, "$100000\r\n"}, FakeServer::kDrip);
  RedisConnection connection(fake.endpoint());
  connection.set_patience(100ms);
  expect_contains(error_of<RedisAnswerLost>([&] { connection.call(REDIS_REPLY_STRING, {"X"}); }),
                  {fake.endpoint().url(), "no answer within 100 ms"});
}

TEST(BrokenServer, DripsWhileAClientLogsIn) {
  const FakeServer fake({"+"}, FakeServer::kDrip);
  expect_contains(
      error_of<BackendUnavailable>([&] { RedisConnection connection(fake.endpoint(), 100ms); }),
      {"no answer within 100 ms"});
}

TEST(BrokenServer, ReadsALittleNowAndThen) {
  const FakeServer fake({kPong}, FakeServer::kDrip);
  RedisConnection connection(fake.endpoint());
  connection.set_patience(300ms);
  const std::string text(20'000'000, 'x');
  connection.post({"SET", "key", text});
  const auto start = std::chrono::steady_clock::now();
  expect_contains(error_of([&] { connection.send(); }), {"no answer within 300 ms"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
}

TEST(BrokenServer, DripsWhatItWasAskedFor) {
  const FakeServer fake({kPong, "$100000\r\n"}, FakeServer::kDrip);
  RedisConnection connection(fake.endpoint());
  const auto start = std::chrono::steady_clock::now();
  connection.ask({"X"}, 1s);
  EXPECT_EQ(connection.answer_by(start + 50ms), nullptr);
  EXPECT_TRUE(connection.usable());
  expect_contains(error_of<RedisAnswerLost>([&] { connection.answer_by(start + 60s); }),
                  {"no answer"});
  EXPECT_LT(std::chrono::steady_clock::now(), start + 4s);
}

TEST(BrokenServer, HangsUpInTheMiddleOfAReply) {
  const FakeServer fake({kPong, "*2\r\n$3\r\nab"}, FakeServer::kHangUp);
  RedisConnection connection(fake.endpoint());
  expect_contains(error_of([&] { connection.call(REDIS_REPLY_ARRAY, {"X"}); }),
                  {fake.endpoint().url(), "connection lost"});
}

TEST(BrokenServer, SaysWhyItHangsUp) {
  FakeServer fake({kPong, ":1\r\n-ERR max number of clients reached\r\n"}, FakeServer::kHangUp);
  RedisConnection connection(fake.endpoint());
  connection.call(REDIS_REPLY_INTEGER, {"X"});
  fake.wait_until_it_has_hung_up();
  expect_contains(error_of([&] { connection.call(REDIS_REPLY_INTEGER, {"X"}); }),
                  {"max number of clients", "raise its maxclients"});
  expect_contains(error_of([&] { connection.call(REDIS_REPLY_INTEGER, {"X"}); }),
                  {"connection lost"});
}

TEST(BrokenServer, DoesNotSpeakTheProtocol) {
  const FakeServer fake({"HTTP/1.1 400 Bad Request\r\n\r\n"}, FakeServer::kSilence);
  expect_contains(
      error_of<BackendUnavailable>([&] { RedisConnection connection(fake.endpoint()); }),
      {fake.endpoint().url(), "Protocol error", "check that it is a Redis server"});
}

TEST(BrokenServer, AnswersSomethingElse) {
  const FakeServer fake({kPong, "$1\r\nx\r\n"}, FakeServer::kSilence);
  RedisConnection connection(fake.endpoint());
  expect_contains(error_of([&] { connection.call(REDIS_REPLY_INTEGER, {"X"}); }),
                  {"unexpected kind"});
}

TEST(BrokenServer, LeavesTimeForTheNextOne) {
  const FakeServer silent({}, FakeServer::kSilence);
  const PrivateRedisServer server;
  RedisLink link({silent.endpoint(), server.endpoint()}, 500ms);
  const RedisRouter::Limits limits{.give_up =
                                       std::chrono::steady_clock::now() + RedisLink::kPatience};
  link.another()->with("key", limits, [&](RedisConnection& connection) {
    connection.call(REDIS_REPLY_STATUS, {"PING"});
  });
  EXPECT_LT(std::chrono::steady_clock::now(), limits.give_up);
}

TEST(RedisConnection, ReportsTheFirstLateErrorAndStaysInStep) {
  const PrivateRedisServer server;
  RedisConnection connection(server.endpoint());
  connection.call(REDIS_REPLY_STATUS, {"SET", "text", "x"});
  connection.post({"INCR", "counter"});
  connection.post({"ZREM", "text", "x"});
  connection.post({"NONSENSE"});
  connection.post({"INCR", "counter"});
  expect_contains(error_of<RedisReplyError>([&] { connection.call(REDIS_REPLY_STATUS, {"PING"}); }),
                  {"WRONGTYPE"});
  EXPECT_EQ(connection.call(REDIS_REPLY_INTEGER, {"INCR", "counter"})->integer, 3);

  // The error of a command in the first batch surfaces while the second is posted.
  connection.post({"NONSENSE"});
  int posted = 1;
  const std::string error = error_of<RedisReplyError>([&] {
    for (; posted < 1000; ++posted) connection.post({"INCR", "counter"});
  });
  expect_contains(error, {"unknown command"});
  EXPECT_LE(posted, 2 * static_cast<int>(RedisConnection::kDepth));
  EXPECT_EQ(connection.call(REDIS_REPLY_INTEGER, {"INCR", "counter"})->integer, 3 + posted + 1);
}

// --- The queues ---

template <class Queue>
class RedisQueue : public testing::Test {
 protected:
  static Fired advance(Queue& queue, Tick now) {
    Fired fired;
    const std::size_t count =
        queue.advance(now, [&](TimerId id, Tick deadline) { fired.emplace_back(id, deadline); });
    EXPECT_EQ(count, fired.size());
    return fired;
  }

  RedisConnection admin_{redis_endpoint()};
};

struct QueueNames {
  template <class Queue>
  static std::string GetName(int) {
    return std::string(Queue::traits.name);
  }
};
using Queues = testing::Types<RedisZset, RedisZsetPoll>;
TYPED_TEST_SUITE(RedisQueue, Queues, QueueNames);

TYPED_TEST(RedisQueue, FiresInTheOrderOfDeadlineAndId) {
  TypeParam queue(QueueConfig{.capacity = 300});
  for (const TimerId id : {255, 9, 16, 10, 2, 100, 299}) queue.schedule(id, 7);
  queue.schedule(0, 10);
  queue.schedule(1, 9);
  queue.schedule(3, 11);
  EXPECT_EQ(this->advance(queue, 6), Fired{});
  EXPECT_EQ(
      this->advance(queue, 10),
      (Fired{{2, 7}, {9, 7}, {10, 7}, {16, 7}, {100, 7}, {255, 7}, {299, 7}, {1, 9}, {0, 10}}));
  EXPECT_EQ(queue.next_wakeup(), 11U);
  EXPECT_EQ(this->advance(queue, 9), Fired{});
  EXPECT_EQ(queue.size(), 1U);
}

TYPED_TEST(RedisQueue, MovesCancelsAndRearms) {
  TypeParam queue(QueueConfig{.capacity = 4, .start = 100});
  EXPECT_FALSE(queue.cancel(0));
  queue.schedule(0, 110);
  queue.schedule(0, 120);
  EXPECT_EQ(queue.size(), 1U);
  queue.schedule(1, 50);  // past
  EXPECT_EQ(this->advance(queue, 100), (Fired{{1, 50}}));
  EXPECT_EQ(this->advance(queue, 110), Fired{});
  queue.schedule(2, 105);
  EXPECT_EQ(this->advance(queue, 109), Fired{});  // Time does not run backwards.
  queue.schedule(2, 110);                         // past, too
  EXPECT_LE(queue.next_wakeup(), 110U);
  EXPECT_EQ(this->advance(queue, 110), (Fired{{2, 110}}));
  EXPECT_GT(queue.next_wakeup(), 110U);
  EXPECT_FALSE(queue.cancel(2));
  EXPECT_TRUE(queue.cancel(0));
  EXPECT_FALSE(queue.cancel(0));
  EXPECT_EQ(queue.next_wakeup(), kNever);
  queue.schedule(0, 130);
  EXPECT_EQ(queue.next_wakeup(), 130U);
  EXPECT_EQ(this->advance(queue, 1000), (Fired{{0, 130}}));
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.next_wakeup(), kNever);
}

TYPED_TEST(RedisQueue, TellsDeadlinesApartThatNoScoreCan) {
  TypeParam queue(QueueConfig{.capacity = 8});
  queue.schedule(0, kNever - 1);
  queue.schedule(1, kTwoTo53 + 3);
  queue.schedule(2, kTwoTo53 + 1);
  queue.schedule(3, kTwoTo53);
  queue.schedule(4, kTwoTo53 - 1);
  queue.schedule(5, kTwoTo53 + 2);
  queue.schedule(6, kTwoTo53 + 2);
  EXPECT_EQ(this->advance(queue, kTwoTo53 - 1), (Fired{{4, kTwoTo53 - 1}}));
  EXPECT_EQ(this->advance(queue, kTwoTo53), (Fired{{3, kTwoTo53}}));
  EXPECT_EQ(queue.next_wakeup(), kTwoTo53 + 1);
  EXPECT_TRUE(queue.cancel(6));
  EXPECT_EQ(this->advance(queue, kTwoTo53 + 3),
            (Fired{{2, kTwoTo53 + 1}, {5, kTwoTo53 + 2}, {1, kTwoTo53 + 3}}));
  EXPECT_EQ(queue.next_wakeup(), kNever - 1);
  EXPECT_EQ(this->advance(queue, kNever - 2), Fired{});
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(this->advance(queue, kNever - 1), (Fired{{0, kNever - 1}}));
  EXPECT_EQ(queue.next_wakeup(), kNever);
}

TYPED_TEST(RedisQueue, KeepsTheExactDeadlineOfMicrosecondsSince1970) {
  TypeParam queue(QueueConfig{.capacity = 2});
  queue.schedule(1, 1'700'000'000'123'456);
  queue.schedule(0, 1'700'000'000'123'457);
  EXPECT_EQ(this->advance(queue, 1'700'000'000'123'456), (Fired{{1, 1'700'000'000'123'456}}));
  EXPECT_EQ(queue.next_wakeup(), 1'700'000'000'123'457U);
}

TYPED_TEST(RedisQueue, DoesAsTheModelDoes) {
  constexpr TimerId kCapacity = 200;
  constexpr Tick kStart = 1000;
  for (const Tick jump : {Tick{0}, kTwoTo53 - 3000}) {
    std::mt19937_64 random(jump + 1);
    TypeParam queue(QueueConfig{.capacity = kCapacity, .start = kStart});
    Model model(QueueConfig{.capacity = kCapacity, .start = kStart});
    Tick now = kStart;
    for (int step = 0; step < 3000; ++step) {
      const TimerId id = random() % kCapacity;
      switch (random() % 8) {
        case 0: ASSERT_EQ(queue.cancel(id), model.cancel(id)) << step; break;
        case 1: {
          // Once, far ahead; now and then back, which must have no effect.
          now += step == 1000 ? jump : random() % 50;
          const Tick instant = random() % 16 == 0 ? now - 10 : now;
          Fired expected;
          model.advance(instant, [&](TimerId i, Tick d) { expected.emplace_back(i, d); });
          ASSERT_EQ(this->advance(queue, instant), expected) << step;
          if (instant == now) {
            ASSERT_GT(queue.next_wakeup(), now) << step;
          }
          break;
        }
        default: {
          const Tick deadline = now + random() % 1000 - random() % 20;
          queue.schedule(id, deadline);
          model.schedule(id, deadline);
        }
      }
      now = std::max(now, model.now());
      ASSERT_EQ(queue.size(), model.size()) << step;
      ASSERT_LE(queue.next_wakeup(), model.next_wakeup()) << step;
      ASSERT_EQ(queue.next_wakeup() == kNever, model.size() == 0) << step;
    }
  }
}

TYPED_TEST(RedisQueue, TouchesOnlyItsOwnKeyAndDeletesIt) {
  const long long before = keys(this->admin_);
  this->admin_.call(REDIS_REPLY_STATUS, {"SET", "timerbench:precious", "x"});
  {
    TypeParam one(QueueConfig{.capacity = 10});
    TypeParam two(QueueConfig{.capacity = 10});
    EXPECT_NE(one.key(), two.key());
    EXPECT_TRUE(one.key().starts_with("timerbench:" + std::to_string(getpid()) + ":")) << one.key();
    for (TimerId id = 0; id < 10; ++id) {
      one.schedule(id, id);
      two.schedule(id, id);
    }
    EXPECT_EQ(this->advance(one, 4).size(), 5U);
    EXPECT_EQ(this->advance(two, 2).size(), 3U);
    EXPECT_EQ(keys(this->admin_), before + 3);
  }
  EXPECT_EQ(keys(this->admin_), before + 1);
  EXPECT_EQ(this->admin_.call(REDIS_REPLY_INTEGER, {"DEL", "timerbench:precious"})->integer, 1);
}

TYPED_TEST(RedisQueue, ReportsAKeyOfTheWrongType) {
  {
    TypeParam queue(QueueConfig{.capacity = 2});
    this->admin_.call(REDIS_REPLY_STATUS, {"SET", queue.key(), "x"});
    const std::string error = error_of<RedisReplyError>([&] {
      queue.schedule(0, 1);
      queue.advance(0, IgnoreExpiry{});
    });
    expect_contains(error, {redis_endpoint().url(), "WRONGTYPE", "another program uses the key"});
  }
  EXPECT_EQ(keys(this->admin_), 0);
}

TYPED_TEST(RedisQueue, ReportsAServerWithoutMemory) {
  {
    TypeParam queue(QueueConfig{.capacity = 100'000});
    configure(this->admin_, "maxmemory", "1mb");
    const std::string error = error_of<RedisReplyError>([&] {
      for (TimerId id = 0; id < 100'000; ++id) queue.schedule(id, 1);
    });
    expect_contains(error, {redis_endpoint().url(), "OOM", "raise its maxmemory"});
  }
  EXPECT_EQ(keys(this->admin_), 0);
  configure(this->admin_, "maxmemory", "0");
}

TEST(RedisZset, ReportsAnErrorToItsLastCommand) {
  RedisConnection admin(redis_endpoint());
  RedisZset queue(QueueConfig{.capacity = 3});
  queue.schedule(0, 1);
  queue.sync();
  admin.call(REDIS_REPLY_STATUS, {"SET", queue.key(), "x"});
  queue.schedule(1, 1);
  queue.schedule(2, 1);
  const std::string error = error_of<RedisReplyError>([&] { queue.sync(); });
  expect_contains(error, {redis_endpoint().url(), "WRONGTYPE"});
  queue.sync();  // and it has been said
}

TYPED_TEST(RedisQueue, ReportsAServerThatIsAReplica) {
  TypeParam queue(QueueConfig{.capacity = 1});
  this->admin_.call(REDIS_REPLY_STATUS, {"REPLICAOF", "127.0.0.1", "1"});
  expect_contains(error_of<RedisReplyError>([&] {
                    queue.schedule(0, 1);
                    queue.advance(0, IgnoreExpiry{});
                  }),
                  {"READONLY", "name its primary"});
  this->admin_.call(REDIS_REPLY_STATUS, {"REPLICAOF", "NO", "ONE"});
}

TYPED_TEST(RedisQueue, ReportsAServerThatIsKilledAndTheNextOneWorks) {
  const RedisEndpoint endpoint = redis_endpoint();
  {
    TypeParam queue(QueueConfig{.capacity = 1000});
    queue.schedule(0, 1);
    queue.advance(0, IgnoreExpiry{});
    const pid_t process = process_of(endpoint);
    kill(process, SIGKILL);
    ASSERT_TRUE(soon([&] { return ended(process); }));
    const std::string error = error_of([&] {
      for (TimerId id = 0; id < 1000; ++id) queue.schedule(id, 1);
      queue.advance(1, IgnoreExpiry{});
    });
    expect_contains(error, {endpoint.url(), "connection lost"});
    error_of([&] { queue.advance(2, IgnoreExpiry{}); });
  }
  ASSERT_TRUE(soon([&] { return redis_endpoint().path != endpoint.path; }));
  TypeParam queue(QueueConfig{.capacity = 1});
  queue.schedule(0, 1);
  EXPECT_EQ(this->advance(queue, 1), (Fired{{0, 1}}));
}

TYPED_TEST(RedisQueue, ReportsTimersThatVanish) {
  TypeParam queue(QueueConfig{.capacity = 3});
  for (TimerId id = 0; id < 3; ++id) queue.schedule(id, 10);
  queue.advance(1, IgnoreExpiry{});
  this->admin_.call(REDIS_REPLY_STATUS, {"FLUSHALL"});
  expect_contains(error_of([&] { queue.advance(2, IgnoreExpiry{}); }),
                  {"3 of the timers", queue.key(), "noeviction"});
}

TYPED_TEST(RedisQueue, ReportsAMemberThatIsNoTimer) {
  for (const std::string member : {"00000001", "00000003", "1", "0000000G", "a timer", ""}) {
    TypeParam queue(QueueConfig{.capacity = 3});
    queue.schedule(0, 20);
    queue.advance(1, IgnoreExpiry{});
    this->admin_.call(REDIS_REPLY_INTEGER, {"ZADD", queue.key(), "10", member});
    expect_contains(error_of([&] { queue.advance(11, IgnoreExpiry{}); }),
                    {queue.key(), "\"" + member + "\""});
  }
}

TEST(RedisZset, TakesManyThatAreDueInBatches) {
  RedisConnection admin(redis_endpoint());
  RedisZset queue(QueueConfig{.capacity = 6000});
  for (TimerId id = 0; id < 5000; ++id) queue.schedule(id, 1 + id % 3);
  for (TimerId id = 5000; id < 6000; ++id) queue.schedule(id, 50);
  queue.advance(0, IgnoreExpiry{});
  admin.call(REDIS_REPLY_STATUS, {"CONFIG", "RESETSTAT"});
  Fired fired;
  EXPECT_EQ(queue.advance(10, [&](TimerId id, Tick d) { fired.emplace_back(id, d); }), 5000U);
  EXPECT_TRUE(std::ranges::is_sorted(
      fired, {}, [](auto timer) { return std::pair(timer.second, timer.first); }));
  EXPECT_EQ(queue.next_wakeup(), 50U);
  expect_contains(info(admin, "commandstats", "cmdstat_evalsha"), {"calls=5,"});
  EXPECT_EQ(queue.advance(50, IgnoreExpiry{}), 1000U);
  EXPECT_EQ(queue.size(), 0U);
  expect_contains(info(admin, "commandstats", "cmdstat_evalsha"), {"calls=6,"});
}

TEST(RedisZset, TakesTheLaterBatchesOfOneInstantToo) {
  RedisZset queue(QueueConfig{.capacity = 2500});
  for (TimerId id = 0; id < 2500; ++id) queue.schedule(id, 7);
  EXPECT_EQ(queue.advance(7, IgnoreExpiry{}), 2500U);
}

TEST(RedisZset, LoadsItsScriptAgainWhenTheServerHasForgottenIt) {
  RedisConnection admin(redis_endpoint());
  RedisZset queue(QueueConfig{.capacity = 1});
  queue.schedule(0, 5);
  admin.call(REDIS_REPLY_STATUS, {"SCRIPT", "FLUSH"});
  admin.call(REDIS_REPLY_STATUS, {"CONFIG", "RESETSTAT"});
  EXPECT_EQ(queue.advance(4, IgnoreExpiry{}), 0U);
  EXPECT_EQ(queue.advance(5, IgnoreExpiry{}), 1U);
  expect_contains(info(admin, "commandstats", "cmdstat_eval"), {"calls=1,"});
}

TEST(RedisZset, CancelsWithoutAskingTheServer) {
  RedisConnection admin(redis_endpoint());
  RedisZset queue(QueueConfig{.capacity = 10});
  admin.call(REDIS_REPLY_STATUS, {"CONFIG", "RESETSTAT"});
  for (TimerId id = 0; id < 10; ++id) queue.schedule(id, 5);
  for (TimerId id = 0; id < 10; ++id) EXPECT_TRUE(queue.cancel(id));
  EXPECT_FALSE(queue.cancel(0));
  EXPECT_EQ(info(admin, "commandstats", "cmdstat_zrem"), "");
  EXPECT_EQ(queue.advance(5, IgnoreExpiry{}), 0U);
  expect_contains(info(admin, "commandstats", "cmdstat_zrem"), {"calls=10,"});
}

TEST(RedisZsetPoll, TakesOneRoundTripAnOperation) {
  RedisConnection admin(redis_endpoint());
  RedisZsetPoll queue(QueueConfig{.capacity = 10});
  admin.call(REDIS_REPLY_STATUS, {"CONFIG", "RESETSTAT"});
  for (TimerId id = 0; id < 10; ++id) queue.schedule(id, id);
  expect_contains(info(admin, "commandstats", "cmdstat_zadd"), {"calls=10,"});
  EXPECT_FALSE(queue.advance(3, IgnoreExpiry{}) != 4);
  expect_contains(info(admin, "commandstats", "cmdstat_zrange"), {"calls=5,"});
  expect_contains(info(admin, "commandstats", "cmdstat_zrem"), {"calls=4,"});
}

TEST(RedisZsetPoll, RunsATimerOnlyIfItsRemovalWasItsOwn) {
  RedisConnection admin(redis_endpoint());
  RedisZsetPoll queue(QueueConfig{.capacity = 2});
  queue.schedule(0, 5);
  queue.schedule(1, 6);
  admin.call(REDIS_REPLY_INTEGER, {"ZREM", queue.key(), "00000000"});
  EXPECT_FALSE(queue.cancel(0));
  EXPECT_TRUE(queue.cancel(1));
}

// Between the look at the first element and its removal somebody else was faster.
TEST(RedisZsetPoll, FiresNoTimerThatAnotherHasTaken) {
  const std::string first_is_0 = "*2\r\n$8\r\n00000000\r\n$1\r\n5\r\n";
  const std::string first_is_1 = "*2\r\n$8\r\n00000001\r\n$1\r\n5\r\n";
  const std::string yes = ":1\r\n", no = ":0\r\n", empty = "*0\r\n";
  const FakeServer fake({kPong, yes, yes, first_is_0, no, first_is_1, yes, empty, yes},
                        FakeServer::kSilence);
  const ScopedVariable variable(kRedisUrlVariable, fake.endpoint().url());
  std::vector<TimerId> fired;
  RedisZsetPoll queue(QueueConfig{.capacity = 2});
  queue.schedule(0, 5);
  queue.schedule(1, 5);
  expect_contains(
      error_of([&] { queue.advance(5, [&](TimerId id, Tick) { fired.push_back(id); }); }),
      {"1 of the timers", "are gone"});
  EXPECT_EQ(fired, std::vector<TimerId>{1});
}

}  // namespace
}  // namespace timerbench
