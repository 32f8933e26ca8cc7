// The delay queue in Redis: what several pollers, processes and clocks do to it, and a server that
// fails. That it is a timer service, service_test.cc shows. Every server in here is the test's own.
#include "services/redis_poller.h"

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <latch>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <semaphore>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/backend_error.h"
#include "redis/connection.h"
#include "redis/names.h"
#include "redis_testing.h"
#include "service_fixture.h"
#include "services/clock.h"

namespace timerbench {
namespace {

using namespace std::chrono_literals;
using Ids = std::vector<TimerId>;

constexpr Tick kSecond = 1000 * kMillisecond;

// A redis-server that can be taken away and brought back, and that every service uses.
class Server {
 public:
  // `appendonly`: "yes" if it is to remember all that it has answered when it is killed.
  explicit Server(const char* appendonly = "no") : appendonly_(appendonly) { start(); }
  ~Server() { end(); }

  void start() {
    const std::string log = folder_.path() + "/log";
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket_.c_str(),
             "--dir", folder_.path().c_str(), "--logfile", log.c_str(), "--save", "",
             "--appendonly", appendonly_, "--appendfsync", "always", nullptr);
      _exit(EXIT_FAILURE);
    }
    if (!soon([&] { return answers(); })) std::abort();
  }

  void end() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  void suspend() const { kill(process_, SIGSTOP); }
  void resume() const { kill(process_, SIGCONT); }

  RedisConnection connect() const { return RedisConnection(RedisEndpoint::parse(url_)); }

  // Ends all connections of this process: what the server answers from now on is lost, what it has
  // been asked before is not.
  void lose_answers() const {
    for (const int fd : connections()) shutdown(fd, SHUT_RD);
  }

  // Whether so many connections of this process have asked what the server has not read.
  bool is_asked_by(std::ptrdiff_t count) const {
    return soon([&] {
      return std::ranges::count_if(connections(), [](int fd) {
               int unread = 0;
               return ioctl(fd, SIOCOUTQ, &unread) == 0 && unread > 0;
             }) == count;
    });
  }

 private:
  // Of this process.
  std::vector<int> connections() const {
    std::vector<int> connections;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int fd = std::stoi(entry.path().filename());
      sockaddr_un peer{};
      socklen_t size = sizeof(peer);
      if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
          peer.sun_family == AF_UNIX && peer.sun_path == socket_) {
        connections.push_back(fd);
      }
    }
    return connections;
  }

  bool answers() const {
    try {
      connect();
      return true;
    } catch (const BackendUnavailable&) {
      return false;
    }
  }

  const char* appendonly_;
  EmptyFolder folder_;
  std::string socket_ = folder_.path() + "/socket";
  std::string url_ = "unix://" + socket_;
  ScopedVariable variable_{kRedisUrlVariable, url_};
  pid_t process_ = 0;
};

struct Behaviour {
  std::function<void(TimerId)> on_fire = [](TimerId) {};
  bool stalls = false;  // in the first timer, until it is let go
  std::size_t threads = 1;
};

// A service, and what it has fired.
class Recorder {
 public:
  static constexpr TimerId kCapacity = 10'000;

  Recorder(Clock& clock, RedisPollerOptions options, Behaviour behaviour = {})
      : behaviour_(std::move(behaviour)),
        service_({.capacity = kCapacity,
                  .clock = clock,
                  .handler = [this](TimerId id, Tick deadline) { fire(id, deadline); },
                  .threads = behaviour_.threads},
                 std::move(options)) {}
  ~Recorder() { let_go(); }

  RedisPoller* operator->() { return &service_; }

  void wait_until_it_stalls() { stalled_.wait(false); }
  void let_go() {
    let_go_ = true;
    let_go_.notify_all();
  }
  // Calls stop(), and lets go as soon as that has begun.
  Fires stop_stalled() {
    std::thread other([this] {
      try {
        for (;;) service_.schedule(kCapacity - 1, kNever - 1);
      } catch (const ServiceStopped&) {
        let_go();
      }
    });
    Fires pending = service_.stop();
    other.join();
    return pending;
  }

  // In the order in which they began.
  Fires fires() const {
    const std::lock_guard lock(mutex_);
    return fires_;
  }

  Ids ids() const {
    Ids ids;
    for (const PendingTimer& timer : fires()) ids.push_back(timer.id);
    return ids;
  }

 private:
  void fire(TimerId id, Tick deadline) {
    {
      const std::lock_guard lock(mutex_);
      fires_.push_back({id, deadline});
    }
    behaviour_.on_fire(id);
    if (behaviour_.stalls && !stalled_.exchange(true)) {
      stalled_.notify_all();
      let_go_.wait(false);
    }
  }

  const Behaviour behaviour_;
  std::atomic<bool> stalled_ = false;
  std::atomic<bool> let_go_ = false;
  mutable std::mutex mutex_;
  Fires fires_;
  RedisPoller service_;
};

Ids first_ids(TimerId count) {
  Ids ids(count);
  for (TimerId id = 0; id < count; ++id) ids[id] = id;
  return ids;
}

// Arms them in a queue before a service looks at it.
void arm(const std::string& queue, const Ids& ids, Tick deadline) {
  ManualClock clock;  // by which nothing is due
  Recorder arms(clock, {.queue = queue});
  for (const TimerId id : ids) arms->schedule(id, deadline);
}

// All that several services have fired, sorted: a timer that has run twice is in it twice.
Ids all_ids(std::initializer_list<const Recorder*> services) {
  Ids all;
  for (const Recorder* service : services) {
    const Ids ids = service->ids();
    all.insert(all.end(), ids.begin(), ids.end());
  }
  std::ranges::sort(all);
  return all;
}

long long number(RedisConnection& connection, RedisConnection::Command command) {
  return connection.call(REDIS_REPLY_INTEGER, command)->integer;
}

constexpr std::string_view kWaiting = "timerbench:{q}:waiting";
constexpr std::string_view kClaimed = "timerbench:{q}:claimed";
constexpr std::string_view kPayload = "timerbench:{q}:payload";

// --- One service ---

TEST(RedisPoller, TouchesOnlyFourKeysOfItsOwnAndDeletesThem) {
  const Server server;
  RedisConnection admin = server.connect();
  admin.call(REDIS_REPLY_STATUS, {"SET", "timerbench:precious", "x"});
  ManualClock clock;
  Recorder one(clock, {}, {.stalls = true});
  std::optional<Recorder> two(std::in_place, clock, RedisPollerOptions{});
  for (const TimerId id : {0U, 1U}) one->schedule(id, kMillisecond);
  one->schedule(2, kHour);
  (*two)->schedule(0, kHour);
  clock.settle();
  clock.set(kMillisecond);
  one.wait_until_it_stalls();
  EXPECT_EQ(one->size(), 2U);
  EXPECT_EQ((*two)->size(), 1U);
  EXPECT_EQ(number(admin, {"DBSIZE"}), 1 + 4 + 2) << "nothing is claimed or begun in the other";
  two.reset();
  EXPECT_EQ(number(admin, {"DBSIZE"}), 1 + 4);
  one->schedule(Recorder::kCapacity - 1, kHour);
  EXPECT_EQ(one.stop_stalled().size(), 3U);
  EXPECT_EQ(number(admin, {"DBSIZE"}), 1);
}

TEST(RedisPoller, IsNeverEarlyAndLateByLessThanItsScoresAreApart) {
  const Server server;
  struct {
    Tick deadline, latest;
  } const cases[] = {{1'500, 2'000},
                     {3'000, 3'000},
                     {1'700'000'000'123'456'789, 1'700'000'000'123'457'000},
                     {Tick{1} << 63, (Tick{1} << 63) + 4'000},
                     {(Tick{1} << 63) + 4'001, (Tick{1} << 63) + 8'000},
                     {Tick{18'100'000'000'000'000'001U}, Tick{18'100'000'000'000'004'000U}},
                     {kNever - 1, kNever - 1}};
  ManualClock clock;
  Recorder service(clock, {});
  Fires expected;
  for (const auto [deadline, latest] : cases) {
    service->schedule(1, deadline);
    clock.set(deadline - 1);
    clock.settle();
    EXPECT_EQ(service.fires(), expected) << "early: " << deadline;
    clock.set(latest);
    clock.settle();
    expected.push_back({1, deadline});
    EXPECT_EQ(service.fires(), expected) << "late: " << deadline;
  }
}

TEST(RedisPoller, RunsWhatIsDueInTheOrderOfTheDeadlinesBatchByBatch) {
  const Server server;
  RedisConnection admin = server.connect();
  ManualClock clock;
  clock.set(kHour);
  {
    Recorder arms(clock, {.queue = "q", .interval = kHour});
    clock.settle();  // it looks again in an hour
    for (const TimerId id : first_ids(25)) arms->schedule(id, (id + 1) * kMillisecond);
  }
  Recorder service(clock, {.queue = "q", .batch = 10}, {.stalls = true});
  service.wait_until_it_stalls();
  EXPECT_EQ(number(admin, {"ZCARD", kClaimed}), 9);
  EXPECT_EQ(number(admin, {"ZCARD", kWaiting}), 15);
  EXPECT_EQ(service->size(), 24U);
  service.let_go();
  clock.settle();
  EXPECT_EQ(service.ids(), first_ids(25));
  EXPECT_EQ(service->size(), 0U);
}

TEST(RedisPoller, IsNotWokenByALaterTimer) {
  const Server server;
  ManualClock clock;
  Recorder service(clock, {});
  service->schedule(1, kSecond);
  clock.settle();
  const auto before = service->wakeups();
  for (const Tick deadline : {kSecond, kHour}) {
    service->schedule(2, deadline);
    clock.settle();
  }
  EXPECT_EQ(service->wakeups(), before);
}

TEST(RedisPoller, LooksOnceAnIntervalIfAskedTo) {
  const Server server;
  EXPECT_EQ(RedisPollerEvery<10>::traits.name, "redis_poller_10");
  ManualClock clock;
  std::atomic<int> fires = 0;
  RedisPollerEvery<10> service(
      {.capacity = 1, .clock = clock, .handler = [&](TimerId, Tick) { ++fires; }});
  clock.settle();
  service.schedule(0, 11 * kMillisecond);
  for (const Tick now : {9, 10, 19}) {
    clock.set(now * kMillisecond);
    clock.settle();
    EXPECT_EQ(fires, 0) << now;
  }
  EXPECT_EQ(service.wakeups(), 1U) << "and nobody has rung";
  clock.set(20 * kMillisecond);
  clock.settle();
  EXPECT_EQ(fires, 1);
}

TEST(RedisPoller, SeveralPollersRunHandlersAtOnce) {
  const Server server;
  SteadyClock clock;
  std::latch all(3);
  Recorder service(clock, {.batch = 1},
                   {.on_fire = [&](TimerId) { all.arrive_and_wait(); }, .threads = 3});
  for (const TimerId id : {0U, 1U, 2U}) service->schedule(id, clock.now());
  EXPECT_TRUE(soon([&] { return service.ids().size() == 3; }));
  all.wait();
}

TEST(RedisPoller, HearsOfAnEarlierTimerWhileOneOfItsPollersIsBusy) {
  const Server server;
  SteadyClock clock;
  Recorder service(clock, {}, {.stalls = true, .threads = 2});
  service->schedule(0, clock.now());
  service.wait_until_it_stalls();
  service->schedule(1, clock.now() + kHour);
  service->schedule(2, clock.now() + 20 * kMillisecond);
  EXPECT_TRUE(soon([&] { return service.ids() == Ids{0, 2}; }));
}

TEST(RedisPoller, HearsOfATimerThatIsScheduledWhileItLooks) {
  const Server server;
  SteadyClock clock;
  std::counting_semaphore<> fires(0);
  Recorder service(clock, {}, {.on_fire = [&](TimerId) { fires.release(); }});
  for (int i = 0; i < 500; ++i) {
    service->schedule(0, clock.now());
    ASSERT_TRUE(fires.try_acquire_for(5s)) << i;
  }
}

TEST(RedisPoller, AnotherOfItsPollersTakesOverFromASlowHandlerWhenTheLeaseEnds) {
  const Server server;
  SteadyClock clock;
  Recorder service(clock, {.lease = 100 * kMillisecond}, {.stalls = true, .threads = 2});
  const Tick deadline = clock.now() + 50 * kMillisecond;
  for (const TimerId id : {0U, 1U, 2U}) service->schedule(id, deadline);
  EXPECT_TRUE(soon([&] { return service.ids() == first_ids(3); }));
}

TEST(RedisPoller, TeachesTheServerItsScriptsAgain) {
  const Server server;
  RedisConnection admin = server.connect();
  ManualClock clock;
  Recorder service(clock, {});
  admin.call(REDIS_REPLY_STATUS, {"SCRIPT", "FLUSH"});
  service->schedule(1, kSecond);
  service->schedule(2, kSecond);
  EXPECT_TRUE(service->cancel(1));
  clock.set(kSecond);
  clock.settle();
  EXPECT_EQ(service.ids(), Ids{2});
}

// --- Several services on one queue ---

TEST(SharedRedisPoller, NoTimerRunsTwice) {
  constexpr TimerId kTimers = 3000;
  const Server server;
  SteadyClock clock;
  Recorder one(clock, {.queue = "q", .batch = 7}, {.threads = 2});
  Recorder two(clock, {.queue = "q", .batch = 7}, {.threads = 2});
  Recorder* const services[] = {&one, &two};
  for (TimerId id = 0; id < kTimers; ++id) {
    (*services[id % 2])->schedule(id, clock.now() + id % 50 * kMillisecond);
  }
  EXPECT_TRUE(soon([&] { return one->size() == 0; }));
  one->stop();
  two->stop();
  EXPECT_EQ(all_ids({&one, &two}), first_ids(kTimers));
  EXPECT_GT(one.ids().size(), 0U);
  EXPECT_GT(two.ids().size(), 0U);
}

// Leases so short that they end all the time.
TEST(SharedRedisPoller, NoTimerRunsTwiceThoughTheLeasesEnd) {
  constexpr TimerId kTimers = 500;
  const Server server;
  SteadyClock clock;
  const RedisPollerOptions options{.queue = "q", .lease = 200'000, .batch = 50};
  Recorder one(clock, options, {.threads = 2});
  Recorder two(clock, options, {.threads = 2});
  for (TimerId id = 0; id < kTimers; ++id) one->schedule(id, clock.now() + 20 * kMillisecond);
  EXPECT_TRUE(soon([&] { return one->size() == 0; }));
  one->stop();
  two->stop();
  EXPECT_EQ(all_ids({&one, &two}), first_ids(kTimers));
}

TEST(SharedRedisPoller, AnotherMayCancelOrMoveWhatIsClaimed) {
  const Server server;
  RedisConnection admin = server.connect();
  ManualClock clock;
  ManualClock elsewhere;
  Recorder one(clock, {.queue = "q"}, {.stalls = true});
  Recorder two(elsewhere, {.queue = "q"});
  one->schedule(0, kMillisecond);
  for (const TimerId id : {1U, 2U, 3U}) two->schedule(id, 2 * kMillisecond);
  clock.settle();
  clock.set(2 * kMillisecond);
  one.wait_until_it_stalls();
  EXPECT_FALSE(two->cancel(0)) << "it has begun";
  EXPECT_TRUE(two->cancel(1));
  EXPECT_FALSE(two->cancel(1));
  two->schedule(2, kSecond);
  EXPECT_EQ(two->size(), 2U);
  EXPECT_EQ(number(admin, {"ZCARD", kClaimed}), 1) << "3";
  one.let_go();
  clock.settle();
  EXPECT_EQ(one.ids(), (Ids{0, 3}));
  clock.set(kSecond);
  clock.settle();
  EXPECT_EQ(one.fires().back(), (PendingTimer{2, kSecond}));
  EXPECT_EQ(all_ids({&one, &two}), (Ids{0, 2, 3}));
}

TEST(SharedRedisPoller, NoticesTheEarlierTimerOfAnotherInTime) {
  const Server server;
  ManualClock clock;
  ManualClock elsewhere;
  Recorder one(clock, {.queue = "q"});
  Recorder two(elsewhere, {.queue = "q"});
  one->schedule(0, kHour);
  clock.settle();
  two->schedule(1, kMillisecond);
  clock.set(100 * kMillisecond);
  clock.settle();
  EXPECT_EQ(one.ids(), Ids{1});
}

TEST(SharedRedisPoller, ASlowHandlerLosesTheRestOfItsBatchWithTheLease) {
  const Server server;
  ManualClock clock;
  ManualClock elsewhere;
  const RedisPollerOptions options{.queue = "q", .lease = kSecond};
  Recorder slow(clock, options, {.stalls = true});
  Recorder other(elsewhere, options);
  for (const TimerId id : {0U, 1U, 2U}) slow->schedule(id, (id + 1) * kMillisecond);
  clock.settle();
  clock.set(3 * kMillisecond);
  slow.wait_until_it_stalls();
  elsewhere.set(kSecond + 2 * kMillisecond);
  elsewhere.settle();
  EXPECT_EQ(other.ids(), Ids{}) << "before the lease ends";
  elsewhere.set(kSecond + 3 * kMillisecond);
  elsewhere.settle();
  EXPECT_EQ(other.ids(), (Ids{1, 2}));
  slow.let_go();
  clock.settle();
  EXPECT_EQ(all_ids({&slow, &other}), first_ids(3));
}

TEST(SharedRedisPoller, ASlowHandlerKeepsTheRestOfItsBatchIfNobodyHasTakenIt) {
  const Server server;
  ManualClock clock;
  Recorder slow(clock, {.queue = "q", .lease = kSecond}, {.stalls = true});
  for (const TimerId id : {0U, 1U, 2U}) slow->schedule(id, (id + 1) * kMillisecond);
  clock.settle();
  clock.set(3 * kMillisecond);
  slow.wait_until_it_stalls();
  clock.set(kHour);
  slow.let_go();
  clock.settle();
  EXPECT_EQ(slow.ids(), first_ids(3));
}

// Both claims hold timer 1 until the same instant: `stale` of its first arming, `holder` of its
// second.
TEST(SharedRedisPoller, AStaleClaimDoesNotRunALaterArming) {
  const Server server;
  RedisConnection admin = server.connect();
  ManualClock clock;
  ManualClock elsewhere;
  Recorder stale(clock, {.queue = "q"}, {.stalls = true});
  Recorder holder(elsewhere, {.queue = "q"}, {.stalls = true});
  stale->schedule(0, kMillisecond);
  stale->schedule(1, kMillisecond);
  clock.settle();
  clock.set(kMillisecond);
  stale.wait_until_it_stalls();

  holder->schedule(1, kMillisecond);
  holder->schedule(2, kMillisecond / 2);
  elsewhere.set(kMillisecond);
  holder.wait_until_it_stalls();
  ASSERT_EQ(number(admin, {"ZCARD", kClaimed}), 1);
  stale.let_go();
  clock.settle();
  EXPECT_EQ(stale.ids(), Ids{0});
  holder.let_go();
  elsewhere.settle();
  EXPECT_EQ(holder.ids(), (Ids{2, 1}));
}

TEST(SharedRedisPoller, AClaimWhoseLeaseHasEndedDoesNotRunWhatAnotherHasClaimed) {
  const Server server;
  ManualClock clock;
  ManualClock elsewhere;
  Recorder stale(clock, {.queue = "q", .lease = kSecond}, {.stalls = true});
  Recorder holder(elsewhere, {.queue = "q"}, {.stalls = true});
  for (const TimerId id : {0U, 1U, 2U}) stale->schedule(id, kMillisecond);
  clock.settle();
  clock.set(kMillisecond);
  stale.wait_until_it_stalls();
  elsewhere.set(2 * kSecond);
  holder.wait_until_it_stalls();  // in 1, and 2 is behind it
  stale.let_go();
  clock.settle();
  EXPECT_EQ(stale.ids(), Ids{0});
  holder.let_go();
  elsewhere.settle();
  EXPECT_EQ(holder.ids(), (Ids{1, 2}));
}

TEST(SharedRedisPoller, StopLeavesTheTimersToTheOthersAtOnce) {
  const Server server;
  SteadyClock clock;
  const RedisPollerOptions options{.queue = "q", .lease = kHour};
  Recorder one(clock, options, {.stalls = true});
  const Tick deadline = clock.now() + 100 * kMillisecond;
  for (const TimerId id : first_ids(5)) one->schedule(id, deadline);
  one->schedule(Recorder::kCapacity - 1, kNever - 1);
  one.wait_until_it_stalls();
  Recorder two(clock, options);
  EXPECT_TRUE(one.stop_stalled().empty());
  EXPECT_EQ(one.ids().size(), 1U);
  EXPECT_TRUE(soon([&] { return all_ids({&one, &two}) == first_ids(5); }));
  EXPECT_EQ(two->size(), 1U);
  EXPECT_TRUE(two->cancel(Recorder::kCapacity - 1));
}

// --- Clocks ---

TEST(SharedRedisPoller, GoesByItsClockAndNotTheServers) {
  const Server server;
  for (const Tick start : {Tick{0}, Tick{1'900'000'000} * kSecond, Tick{1} << 63}) {
    ManualClock clock;
    clock.set(start);
    Recorder service(clock, {});
    service->schedule(1, start + kSecond);
    clock.settle();
    clock.set(start + kSecond - kMillisecond);
    clock.settle();
    EXPECT_EQ(service.ids(), Ids{}) << start;
    clock.set(start + kSecond + kMillisecond);
    clock.settle();
    EXPECT_EQ(service.ids(), Ids{1}) << start;
  }
}

TEST(SharedRedisPoller, ThePollerWhoseClockIsAheadRunsWhatIsDueByIt) {
  const Server server;
  ManualClock behind;
  ManualClock ahead;
  ahead.set(kHour);
  Recorder late(behind, {.queue = "q"});
  Recorder early(ahead, {.queue = "q"});
  late->schedule(1, kSecond);
  late->schedule(2, kHour + kSecond);
  ahead.set(kHour + 100 * kMillisecond);
  ahead.settle();
  behind.settle();
  EXPECT_EQ(early.ids(), Ids{1});
  EXPECT_EQ(late.ids(), Ids{});
  behind.set(kHour + kSecond);
  behind.settle();
  ahead.set(kHour + 2 * kSecond);
  ahead.settle();
  EXPECT_EQ(all_ids({&late, &early}), (Ids{1, 2}));
}

TEST(SharedRedisPoller, ALeaseOfAClockBehindEndsEarlyAndOfOneAheadLate) {
  const Server server;
  ManualClock behind;
  ManualClock ahead;
  ahead.set(kHour);
  {
    Recorder slow(behind, {.queue = "q", .lease = kSecond}, {.stalls = true});
    for (const TimerId id : {0U, 1U, 2U}) slow->schedule(id, id);
    slow.wait_until_it_stalls();
    ASSERT_TRUE(soon([&] { return slow->size() <= 2; }));
    Recorder taker(ahead, {.queue = "q"});
    ahead.settle();
    slow.let_go();
    behind.settle();
    EXPECT_EQ(all_ids({&slow, &taker}), first_ids(3));
  }
  {
    Recorder arms(behind, {.queue = "q", .interval = kHour});
    behind.settle();
    for (const TimerId id : {0U, 1U, 2U}) arms->schedule(id, id);
    Recorder slow(ahead, {.queue = "q", .lease = kSecond}, {.stalls = true});
    slow.wait_until_it_stalls();
    Recorder taker(behind, {.queue = "q"});
    behind.set(kHour);
    behind.settle();
    EXPECT_EQ(taker.ids(), Ids{});
    behind.set(kHour + kSecond);
    behind.settle();
    EXPECT_EQ(all_ids({&arms, &taker}), (Ids{1, 2}));
    slow.let_go();
    ahead.settle();
    EXPECT_EQ(all_ids({&slow, &arms, &taker}), first_ids(3));
  }
}

// --- Several processes ---

// A process with services of its own, for as long as this exists. REQUIRES: there are no threads.
class Process {
 public:
  explicit Process(const std::function<void()>& start_services) : process_(fork()) {
    if (process_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    start_services();
    _exit(EXIT_FAILURE);
  }
  ~Process() { end(); }

  void end() {
    if (process_ == 0) return;
    kill(process_, SIGKILL);
    waitpid(std::exchange(process_, 0), nullptr, 0);
  }

 private:
  pid_t process_;
};

// What processes tell this one.
class Reports {
 public:
  struct Report {
    pid_t process;
    TimerId id;
  };

  Reports() {
    if (pipe(pipe_.data()) != 0) std::abort();
  }
  ~Reports() {
    for (const int end : pipe_) close(end);
  }

  void add(TimerId id) {
    const Report report{getpid(), id};
    if (write(pipe_[1], &report, sizeof(report)) != sizeof(report)) _exit(EXIT_FAILURE);
  }

  // The next one; nothing if none comes.
  std::optional<Report> next(std::chrono::milliseconds patience = 5s) {
    Report report;
    pollfd event{.fd = pipe_[0], .events = POLLIN, .revents = 0};
    if (poll(&event, 1, static_cast<int>(patience.count())) != 1 ||
        read(pipe_[0], &report, sizeof(report)) != sizeof(report)) {
      return std::nullopt;
    }
    return report;
  }

 private:
  std::array<int, 2> pipe_;
};

TEST(RedisPollerProcesses, NoTimerRunsInBoth) {
  constexpr TimerId kTimers = 1000;  // of each
  const Server server;
  Reports reports;
  std::list<Process> processes;
  for (const TimerId first : {TimerId{0}, kTimers}) {
    processes.emplace_back([&] {
      SteadyClock clock;
      Recorder service(clock, {.queue = "q", .batch = 10},
                       {.on_fire = [&](TimerId id) { reports.add(id); }});
      for (TimerId id = first; id < first + kTimers; ++id) {
        service->schedule(id, clock.now() + id % 100 * kMillisecond);
      }
      pause();
    });
  }
  Ids fired;
  std::map<pid_t, int> by;
  while (fired.size() < std::size_t{2} * kTimers) {
    const auto report = reports.next();
    ASSERT_TRUE(report);
    fired.push_back(report->id);
    ++by[report->process];
  }
  EXPECT_FALSE(reports.next(50ms));
  EXPECT_EQ(by.size(), 2U);
  std::ranges::sort(fired);
  EXPECT_EQ(fired, first_ids(2 * kTimers));
}

TEST(RedisPollerProcesses, OneMayCancelOrMoveATimerOfAnother) {
  const Server server;
  Reports reports;
  Process process([&] {
    SteadyClock clock;
    Recorder service(clock, {.queue = "q"}, {.on_fire = [&](TimerId id) { reports.add(id); }});
    for (const TimerId id : {0U, 1U, 2U}) service->schedule(id, clock.now() + kHour);
    reports.add(99);
    pause();
  });
  ASSERT_TRUE(reports.next());
  ManualClock clock;  // whose zero is long past: only the other fires
  Recorder service(clock, {.queue = "q"});
  EXPECT_EQ(service->size(), 3U);
  EXPECT_TRUE(service->cancel(0));
  EXPECT_FALSE(service->cancel(0));
  service->schedule(1, kMillisecond);
  const auto report = reports.next();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->id, 1U);
  EXPECT_FALSE(service->cancel(1));
  EXPECT_TRUE(service->cancel(2));
  EXPECT_FALSE(reports.next(50ms));
}

TEST(RedisPollerProcesses, OneThatIsKilledLosesNoTimerButTheOneThatItRan) {
  const Server server;
  RedisConnection admin = server.connect();
  Reports reports;
  const RedisPollerOptions options{.queue = "q", .lease = 300 * kMillisecond};
  Process process([&] {
    SteadyClock clock;
    arm("q", first_ids(20), clock.now());
    const Recorder service(clock, options, {.on_fire = [&](TimerId id) {
                             reports.add(id);
                             pause();
                           }});
    pause();
  });
  const auto begun = reports.next();
  ASSERT_TRUE(begun);
  EXPECT_EQ(number(admin, {"ZCARD", kClaimed}), 19);
  EXPECT_EQ(number(admin, {"ZCARD", kWaiting}), 0);
  process.end();

  SteadyClock clock;
  Recorder service(clock, options);
  EXPECT_TRUE(soon([&] { return service.ids().size() == 19; }));
  std::this_thread::sleep_for(50ms);
  Ids fired = service.ids();
  fired.push_back(begun->id);
  std::ranges::sort(fired);
  EXPECT_EQ(fired, first_ids(20));
  EXPECT_EQ(service->size(), 0U);
}

TEST(RedisPollerProcesses, OneThatIsKilledInTheMiddleOfAClaimLosesNothing) {
  const Server server;
  RedisConnection admin = server.connect();
  Reports reports;
  const RedisPollerOptions options{.queue = "q", .lease = 300 * kMillisecond};
  Process process([&] {
    ManualClock clock;
    Recorder service(clock, options, {.on_fire = [&](TimerId id) { reports.add(id); }});
    for (const TimerId id : first_ids(20)) service->schedule(id, kMillisecond);
    clock.settle();
    server.suspend();
    clock.set(kMillisecond);
    // The claim is on its way, and nobody hears of the answer.
    if (server.is_asked_by(1)) reports.add(99);
    pause();
  });
  ASSERT_TRUE(reports.next());
  process.end();
  server.resume();
  EXPECT_TRUE(soon([&] { return number(admin, {"ZCARD", kClaimed}) == 20; }));

  SteadyClock clock;
  Recorder service(clock, options);
  EXPECT_TRUE(soon([&] { return service->size() == 0; }));
  service->stop();
  EXPECT_EQ(all_ids({&service}), first_ids(20));
  EXPECT_FALSE(reports.next(0ms));
}

TEST(RedisPollerProcesses, OneThatIsKilledAtAnyMomentLosesOneTimerAtMost) {
  constexpr TimerId kTimers = 1000;
  for (const auto life : {30ms, 43ms, 57ms, 71ms, 89ms}) {
    const Server server;
    Reports reports;
    const RedisPollerOptions options{.queue = "q", .lease = 200 * kMillisecond, .batch = 10};
    std::list<Process> processes;
    for (int i = 0; i < 2; ++i) {
      processes.emplace_back([&, i] {
        SteadyClock clock;
        Recorder service(clock, options, {.on_fire = [&](TimerId id) { reports.add(id); }});
        for (TimerId id = 0; i == 0 && id < kTimers; ++id) {
          service->schedule(id, clock.now() + 200 * kMillisecond + id * (kMillisecond / 10));
        }
        if (i == 0) reports.add(kTimers);
        pause();
      });
    }
    std::set<TimerId> fired;
    const auto collect = [&](std::chrono::milliseconds patience) {
      while (const auto report = reports.next(patience)) {
        const bool is_new = report->id == kTimers || fired.insert(report->id).second;
        EXPECT_TRUE(is_new) << report->id;
        if (report->id == kTimers || fired.size() == kTimers) return;
      }
    };
    collect(5s);  // until all are armed
    std::this_thread::sleep_for(200ms + life);
    processes.front().end();
    collect(1s);
    EXPECT_GE(fired.size(), kTimers - 1) << "killed after " << life.count() << " ms";
  }
}

// --- A server that fails ---

TEST(RedisPollerFailure, NeedsAServerToBeginWith) {
  const ScopedVariable url(kRedisUrlVariable, "unix:///no/such/socket");
  ManualClock clock;
  expect_contains(error_of<BackendUnavailable>([&] { Recorder(clock, {}); }),
                  {"unix:///no/such/socket", "No such file", "unset the variable"});
}

TEST(RedisPollerFailure, AServerThatForgetsIsGoneOnWith) {
  Server server;
  SteadyClock clock;
  Recorder service(clock, {});
  service->schedule(0, clock.now() + kHour);
  server.end();
  server.start();
  EXPECT_EQ(service->size(), 0U);
  EXPECT_FALSE(service->cancel(0));
  service->schedule(1, clock.now() + 20 * kMillisecond);
  EXPECT_TRUE(soon([&] { return service.ids() == Ids{1}; }));
}

TEST(RedisPollerFailure, NothingIsLostWhileAServerThatRemembersIsGoneForTwoSeconds) {
  Server server("yes");
  SteadyClock clock;
  Recorder service(clock, {}, {.threads = 2});
  for (const TimerId id : first_ids(100)) {
    service->schedule(id, clock.now() + 500 * kMillisecond + id * (25 * kMillisecond));
  }
  service->schedule(100, clock.now() + kHour);
  server.end();
  for (const auto& call : std::initializer_list<std::function<void()>>{
           [&] { service->schedule(0, 0); }, [&] { service->cancel(1); },
           [&] { service->size(); }}) {
    expect_contains(error_of(call), {"redis at unix://", "start it"});
  }
  std::this_thread::sleep_for(2s);
  server.start();
  EXPECT_TRUE(service->cancel(100));
  EXPECT_TRUE(soon([&] { return service->size() == 0; }));
  service->stop();
  EXPECT_EQ(all_ids({&service}), first_ids(100));
}

TEST(RedisPollerFailure, WhatWasClaimedWhenTheServerWentRunsWhenItIsBack) {
  Server server("yes");
  SteadyClock clock;
  arm("q", first_ids(10), clock.now());
  Recorder service(clock, {.queue = "q", .lease = kHour}, {.stalls = true});
  service.wait_until_it_stalls();
  RedisConnection admin = server.connect();
  EXPECT_EQ(number(admin, {"ZCARD", kClaimed}), 9);
  server.end();
  service.let_go();
  std::this_thread::sleep_for(20ms);
  server.start();
  EXPECT_TRUE(soon([&] { return service.ids().size() == 10; }));
  service->stop();
  EXPECT_EQ(all_ids({&service}), first_ids(10));
}

TEST(RedisPollerFailure, NothingIsLostWhileTheServerHangsForTwoSeconds) {
  Server server;
  SteadyClock clock;
  Recorder service(clock, {}, {.threads = 2});
  server.end();
  server.start();  // so the connection that hangs is not the first
  for (const TimerId id : first_ids(100)) {
    service->schedule(id, clock.now() + id * (25 * kMillisecond));
  }
  server.suspend();
  std::jthread resume([&] {
    std::this_thread::sleep_for(2s);
    server.resume();
  });
  service->schedule(100, clock.now());
  resume.join();
  EXPECT_TRUE(soon([&] { return service->size() == 0; }));
  service->stop();
  EXPECT_EQ(all_ids({&service}), first_ids(101));
}

// The server begins the second of two timers, and then the connections with the answers are gone. For
// the next 100 ms the poller lets it alone.
class LostBeginTest : public testing::Test {
 protected:
  void lose_begin(const std::string& queue) {
    service_.emplace(clock_, RedisPollerOptions{.queue = queue, .lease = kHour},
                     Behaviour{.stalls = true});
    for (const TimerId id : {0U, 1U}) (*service_)->schedule(id, kMillisecond);
    clock_.set(kMillisecond);
    service_->wait_until_it_stalls();
    server_.suspend();
    service_->let_go();
    ASSERT_TRUE(server_.is_asked_by(1)) << "to begin the other";
    server_.lose_answers();
    clock_.settle();
    server_.resume();
  }
  void let_100_ms_pass() {
    clock_.set(clock_.now() + 100 * kMillisecond);
    clock_.settle();
  }

  Server server_;
  ManualClock clock_;
  std::optional<Recorder> service_;
};

TEST_F(LostBeginTest, TheTimerRunsAllTheSame) {
  lose_begin("q");
  RedisConnection admin = server_.connect();
  EXPECT_EQ(number(admin, {"HLEN", kPayload}), 0) << "it has begun";
  let_100_ms_pass();
  EXPECT_EQ(all_ids({&*service_}), first_ids(2));
  EXPECT_EQ((*service_)->size(), 0U);
  service_.reset();
  EXPECT_EQ(number(admin, {"DBSIZE"}), 0);
}

TEST_F(LostBeginTest, AnotherMayMoveTheTimer) {
  lose_begin("q");
  Recorder other(clock_, {.queue = "q"});
  other->schedule(1, clock_.now() + kHour);
  EXPECT_TRUE(other->cancel(1));
  let_100_ms_pass();
  EXPECT_EQ(all_ids({&*service_, &other}), first_ids(1)) << "what was moved or cancelled has fired";
  EXPECT_EQ(other->size(), 0U);
}

TEST_F(LostBeginTest, StopHandsTheTimerBack) {
  lose_begin("");
  const Fires pending = (*service_)->stop();
  EXPECT_EQ(all_ids({&*service_}), first_ids(1));
  ASSERT_EQ(pending.size(), 1U);
  EXPECT_EQ(pending[0].id, 1U);
}

// One poller waits for the answer to a claim, one to a begin, and a caller to a schedule.
TEST(RedisPollerFailure, StopDoesNotWaitForAServerThatHangs) {
  Server server;
  ManualClock clock;
  std::optional<Recorder> service(std::in_place, clock, RedisPollerOptions{},
                                  Behaviour{.stalls = true, .threads = 2});
  for (const TimerId id : {0U, 1U}) (*service)->schedule(id, kMillisecond);
  (*service)->schedule(2, kSecond);
  clock.set(kMillisecond);
  service->wait_until_it_stalls();
  server.suspend();
  service->let_go();
  clock.set(kSecond);
  std::thread caller([&] { error_of([&] { (*service)->schedule(3, kHour); }); });
  EXPECT_TRUE(server.is_asked_by(3));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE((*service)->stop().empty());
  EXPECT_EQ(std::ranges::count(service->ids(), 1U), 0);
  caller.join();
  service.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 4s);
}

TEST(RedisPollerFailure, StopDoesNotWaitForAServerThatIsGone) {
  Server server;
  SteadyClock clock;
  Recorder service(clock, {});
  service->schedule(0, clock.now() + 20 * kMillisecond);
  server.end();
  std::this_thread::sleep_for(50ms);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(service->stop().empty());
  EXPECT_LT(std::chrono::steady_clock::now() - before, 1s);
}

TEST(RedisPollerFailure, AServerWithoutMemoryTakesNoTimersAndFiresThoseItHas) {
  const Server server;
  RedisConnection admin = server.connect();
  ManualClock clock;
  Recorder service(clock, {.queue = "q"});
  for (const TimerId id : {0U, 1U}) service->schedule(id, kMillisecond);
  clock.settle();
  admin.call(REDIS_REPLY_STATUS, {"CONFIG", "SET", "maxmemory", "1"});
  for (const TimerId id : {1U, 2U}) {
    expect_contains(error_of([&] { service->schedule(id, kHour); }), {"OOM", "maxmemory"});
  }
  EXPECT_EQ(service->size(), 2U);
  clock.set(kMillisecond);
  clock.settle();
  EXPECT_EQ(service.ids(), (Ids{0, 1}));
  EXPECT_EQ(service->size(), 0U);
}

TEST(RedisPollerFailure, KeysOfAnotherProgramAreReported) {
  const Server server;
  RedisConnection admin = server.connect();
  for (const std::string_view key : {kWaiting, kClaimed, kPayload}) {
    ManualClock clock;
    Recorder service(clock, {.queue = "q"});
    admin.call(REDIS_REPLY_STATUS, {"SET", key, "x"});
    expect_contains(error_of([&] { service->schedule(0, 0); }),
                    {"redis at unix://", "WRONGTYPE", "another program uses the key"});
    admin.call(REDIS_REPLY_STATUS, {"FLUSHALL"});
    service->schedule(1, 0);
    clock.set(kSecond);
    clock.settle();
    EXPECT_EQ(service.ids(), Ids{1}) << key;
  }
}

TEST(RedisPollerFailure, MembersAndPayloadsOfAnotherProgramAreReportedAndHurtNoTimer) {
  const Server server;
  RedisConnection admin = server.connect();
  constexpr std::pair<std::string_view, std::string_view> kForeign[] = {
      {"a timer", "1:0"}, {"1", "1:0"},         {"00002710", "1:0"},  // the capacity
      {"00000001", ""},   {"00000001", "soon"}, {"00000001", "1"},   {"00000001", "-1:0"},
  };
  for (const auto& [member, payload] : kForeign) {
    ManualClock clock;
    Recorder service(clock, {.queue = "q"});
    service->schedule(5, 2 * kMillisecond);
    clock.settle();
    admin.call(REDIS_REPLY_INTEGER, {"ZADD", kWaiting, "0.5", member});
    admin.call(REDIS_REPLY_INTEGER, {"HSET", kPayload, member, payload});
    clock.set(2 * kMillisecond);
    clock.settle();
    EXPECT_EQ(service.ids(), Ids{5});
    expect_contains(error_of([&] { service->schedule(6, kHour); }),
                    {"redis at unix://", std::string(kClaimed), "\"" + std::string(member) + "\"",
                     "\"" + std::string(payload) + "\"", "keep other programs off"});
    service->schedule(6, kHour);  // it has been said
    admin.call(REDIS_REPLY_STATUS, {"FLUSHALL"});
  }
}

}  // namespace
}  // namespace timerbench
