// A server that closes idle connections: epoll, a timerfd, and a time-out for each connection in a
// log wheel. With --tick the timerfd wakes it every millisecond, else when the wheel has work.
// usage: epoll_timeouts [--tick] [CONNECTIONS]
//
// The id of a timer is its connection's file descriptor, so nothing is looked up. The clients are a
// second process, and the sockets are local ones; on the network only the listener differs.
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "timerbench/queues/log_wheel.h"

using timerbench::kNever, timerbench::Tick;  // a tick is a nanosecond here, as in the timerfd

constexpr Tick kSecond = 1'000'000'000, kGranularity = kSecond / 1'000, kIdle = kSecond;
constexpr Tick kPatience = 10 * kSecond;  // without a new connection

int check(int result, const char* call) {
  if (result < 0) std::perror(call), std::exit(2);
  return result;
}

Tick now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

struct Server {
  const int listener;
  int awaited;  // connections that are still to come
  const bool ticks;
  const unsigned capacity;
  const Tick start = now();
  timerbench::LogWheel<256> timeouts{{capacity, start, kGranularity}};
  const int epoll = check(epoll_create1(0), "epoll_create1");
  const int timer = check(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");
  int idle = 0, hung_up = 0, wakeups = 0;
  Tick latest = 0, alarm = kNever;  // what the timer is set to

  // Serves until no connection is left. The listener has a time-out too, until all have come.
  void run() {
    watch(listener);
    watch(timer);
    timeouts.schedule(listener, now() + kPatience);
    set_alarm(ticks ? start : timeouts.next_wakeup(), ticks ? kGranularity : 0);
    while (timeouts.size() > 0) {
      epoll_event events[256];
      const int count = check(epoll_wait(epoll, events, std::size(events), -1), "epoll_wait");
      const Tick time = now();
      for (int i = 0; i < count; ++i) handle(events[i].data.fd, time);
      timeouts.advance(time, [&](unsigned file, Tick deadline) {
        close(static_cast<int>(file));
        idle += static_cast<int>(file) != listener;
        latest = std::max(latest, now() - deadline);
      });
      // A time-out that moves later changes nothing, so most batches need no call of the kernel.
      const Tick next = timeouts.next_wakeup();
      if (!ticks && next != alarm) set_alarm(next, 0);
    }
  }

  void handle(int file, Tick time) {
    char data[4096];
    if (file == timer) {
      check(read(file, data, sizeof data), "read");
      alarm = kNever;
      ++wakeups;
    } else if (file == listener) {
      const int connection = check(accept4(file, nullptr, nullptr, SOCK_NONBLOCK), "accept4");
      watch(connection);
      timeouts.schedule(connection, time + kIdle);
      timeouts.schedule(listener, time + kPatience);
      if (--awaited == 0) timeouts.cancel(listener);
    } else if (recv(file, data, sizeof data, 0) > 0) {
      timeouts.schedule(file, time + kIdle);
    } else {
      timeouts.cancel(file);
      close(file);
      ++hung_up;
    }
  }

  void watch(int file) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = file}};
    check(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event), "epoll_ctl");
  }

  void set_alarm(Tick instant, Tick period) {
    alarm = instant;
    itimerspec setting{.it_interval = {.tv_sec = 0, .tv_nsec = long(period)}, .it_value = {}};
    if (instant != kNever) setting.it_value = {time_t(instant / kSecond), long(instant % kSecond)};
    check(timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, nullptr), "timerfd_settime");
  }
};

// Half of the clients send three times, one in ten hangs up, and the others wait to be closed.
int be_clients(const sockaddr* server, socklen_t length, int count) {
  std::vector<int> files;
  for (int i = 0; i < count; ++i) {
    files.push_back(check(socket(AF_UNIX, SOCK_STREAM, 0), "socket"));
    check(connect(files[i], server, length), "connect");
  }
  const int burst = count / 100 * 2 + 2;
  for (int i = 0; i < 3 * count; i += 2) {
    if (i % burst == 0) usleep(2'000);
    send(files[i % count], "x", 1, MSG_NOSIGNAL);
  }
  for (int i = 1; i < count; i += 10) close(files[i]);
  for (char byte; const int file : files) recv(file, &byte, 1, 0);  // until all are closed
  return 0;
}

int main(int argc, char** argv) {
  const bool ticks = argc > 1 && argv[1] == std::string("--tick");
  const int wanted = argc > 1 + ticks ? std::atoi(argv[1 + ticks]) : 100'000;
  constexpr int kOthers = 64;  // open files that are no connections
  rlimit files{rlim_t(wanted) + kOthers, rlim_t(wanted) + kOthers};
  setrlimit(RLIMIT_NOFILE, &files);  // fails if that is above the limit, which only root may raise
  check(getrlimit(RLIMIT_NOFILE, &files), "getrlimit");
  files.rlim_cur = files.rlim_max;
  check(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
  const unsigned capacity = files.rlim_cur;  // every file descriptor is less
  const int connections = capacity - kOthers;
  if (wanted <= 0 || connections <= 0)
    return std::puts("usage: epoll_timeouts [--tick] [CONNECTIONS]; it needs 65 open files"), 2;

  sockaddr address{.sa_family = AF_UNIX, .sa_data = {}};
  socklen_t length = sizeof address;
  const int listener = check(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
  check(bind(listener, &address, sizeof address.sa_family), "bind");  // to any free name
  check(getsockname(listener, &address, &length), "getsockname");
  check(listen(listener, 4096), "listen");
  if (check(fork(), "fork") == 0) return be_clients(&address, length, connections);

  Server server{listener, connections, ticks, capacity};
  server.run();
  std::printf("%d of %d connections were idle for 1 s and were closed, at most %.2f ms late.\n",
              server.idle, connections, server.latest / 1e6);
  std::printf("The timer woke the server %d times in %.2f s: %s.\n", server.wakeups,
              (now() - server.start) / 1e9, ticks ? "once a tick" : "when next_wakeup() said so");
  if (connections < wanted) std::printf("No more than %u files can be open here.\n", capacity);
  return server.idle + server.hung_up == connections ? 0 : 1;
}
