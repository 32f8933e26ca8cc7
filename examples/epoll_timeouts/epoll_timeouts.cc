// A server that closes idle connections: epoll, a timerfd, and a time-out for each connection in a
// log wheel. With --tick the timerfd wakes it every millisecond, else when the wheel has work.
//
// usage: epoll_timeouts [--tick] [CONNECTIONS]
//
// The id of a timer is its connection's file descriptor, so nothing is looked up. The clients are a
// second process. The sockets are local ones, as 10^5 connections would need more ports than one
// address has; for a server on the network only the listener differs.
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <system_error>
#include <thread>

#include "timerbench/queues/log_wheel.h"

using timerbench::kNever;
using timerbench::Tick;  // here a nanosecond, as in the timerfd

constexpr Tick kSecond = 1'000'000'000;
constexpr Tick kGranularity = kSecond / 1'000;
constexpr Tick kIdle = kSecond;

int check(int result, const char* call) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), call);
  return result;
}

Tick now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

struct Server {
  const int listener;
  const bool ticks;
  timerbench::LogWheel<256> timeouts;
  const int epoll = check(epoll_create1(0), "epoll_create1");
  const int timer = check(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");
  Tick alarm = kNever;  // what the timer is set to
  int idle = 0, hung_up = 0, wakeups = 0;
  Tick latest = 0;

  // Serves until no connection is left.
  void run() {
    watch(listener);
    watch(timer);
    if (ticks) set_alarm(now(), kGranularity);
    while (timeouts.size() > 0 || idle + hung_up == 0) {
      epoll_event events[256];
      const int count = check(epoll_wait(epoll, events, std::size(events), -1), "epoll_wait");
      const Tick time = now();
      for (int i = 0; i < count; ++i) handle(events[i].data.fd, time);
      timeouts.advance(time, [&](unsigned connection, Tick deadline) {
        close(static_cast<int>(connection));
        ++idle;
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
void be_clients(const sockaddr* server, socklen_t length, int count) {
  std::vector<int> files;
  for (int i = 0; i < count; ++i) {
    files.push_back(check(socket(AF_UNIX, SOCK_STREAM, 0), "socket"));
    check(connect(files[i], server, length), "connect");
  }
  const int burst = count / 100 * 2 + 2;
  for (int i = 0; i < 3 * count; i += 2) {
    if (i % burst == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    send(files[i % count], "x", 1, MSG_NOSIGNAL);
  }
  for (int i = 1; i < count; i += 10) close(files[i]);
  char byte;
  for (int i = 0; i < count; i += 2) recv(files[i], &byte, 1, 0);  // they are closed last
}

int main(int argc, char** argv) {
  const bool ticks = argc > 1 && argv[1] == std::string("--tick");
  const int wanted = argc > 1 + ticks ? std::stoi(argv[1 + ticks]) : 100'000;
  constexpr int kOthers = 64;  // open files that are no connections
  rlimit files;
  check(getrlimit(RLIMIT_NOFILE, &files), "getrlimit");
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, wanted + kOthers);
  check(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
  const unsigned capacity = files.rlim_cur;  // every file descriptor is less
  const int connections = capacity - kOthers;

  sockaddr address{.sa_family = AF_UNIX, .sa_data = {}};
  socklen_t length = sizeof address.sa_family;  // so it is bound to a free name
  const int listener = check(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
  check(bind(listener, &address, length), "bind");
  length = sizeof address;
  check(getsockname(listener, &address, &length), "getsockname");
  check(listen(listener, 4096), "listen");
  if (check(fork(), "fork") == 0) {
    be_clients(&address, length, connections);
    return 0;
  }

  const Tick start = now();
  Server server{listener, ticks, timerbench::LogWheel<256>({capacity, start, kGranularity})};
  server.run();
  std::printf("%d of %d connections were idle for 1 s and were closed, at most %.2f ms late.\n",
              server.idle, connections, server.latest / 1e6);
  std::printf("The timer woke the server %d times in %.2f s: %s.\n", server.wakeups,
              (now() - start) / 1e9, ticks ? "once a tick" : "when next_wakeup() said so");
  if (connections < wanted) std::printf("No more than %u files can be open here.\n", capacity);
  return server.idle + server.hung_up == connections ? 0 : 1;
}
