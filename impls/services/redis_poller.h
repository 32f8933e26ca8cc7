// A delay queue in Redis, shared by the threads and processes that poll it.
//
// A timer is a member of one of two sorted sets. Its payload is in a hash: its exact deadline, and
// a number that no other arming has. Every step is one Lua script, so it is atomic:
//
//   schedule  into `waiting`, score = deadline, with a new payload; out of `claimed`
//   cancel    out of both sets and of the hash: true iff it was there
//   claim     a poller moves at most a batch of due timers from `waiting` to `claimed`, score =
//             end of its lease; before that, timers whose lease has ended go back to `waiting`
//   begin     just before its handler runs, a timer leaves `claimed` and the hash. The handler runs
//             only if the timer is still of this arming and this claim. The timer stays in another
//             hash, `begun`, until the poller's next one begins, in case the answer is lost
//
// So two pollers never both run a timer, and until it begins any process can cancel or move it. If
// a poller dies between claim and begin nothing is lost: the lease ends, and others take the
// timers. After begin a timer runs at most once: if the process is killed while it runs, it does
// not run again. If a slow handler lets the leases of the rest of its batch end, others may take
// those timers; begin notices that.
//
// A poller sleeps until the first score. A schedule() of an earlier timer rings it, but only in its
// own process, so a poller of a shared queue looks every 100 ms at least. In the other mode it
// looks once an interval and is never rung: the loop of the textbooks.
//
// Cost:
//   schedule, cancel  1 round trip; O(log n) on the server. All callers share one connection behind
//                     a mutex, so no more than one is under way
//   fire              1 round trip, and 2 for each batch: late by two of them at least
//   wakeup            1 round trip; all pollers wake for each first timer
//   on the server some 220 bytes a timer, and one timer more for each poller
//
// Good: when processes share the timers, or the timers must outlive them.
// Bad: a timer costs a thousand times what one in memory does; a batch waits behind its slow
//   handler although other pollers are idle.
// Follows: the delay queues of Redis in Action, 6.4.2, Bull and Sidekiq; the lease of Amazon SQS's
//   visibility timeout.
// Deviates: a handler that failed is not tried again; the four keys share a hash slot, but a
//   cluster's redirections are not followed.
//
// Time is the callers' Clock, never the server's. All who share a queue must use the same clock
// (SteadyClock is one for all processes of a machine, until it restarts). If they do not, still no
// timer runs twice or is lost: a timer fires when the first of their clocks says so, and a lease
// ends early or late by the difference; at worst, the one that is ahead takes over all that those
// behind have claimed. The capacity must be the same too.
//
// A score is a double: in microseconds, rounded up, and exact for 285 years; after that in steps of
// 4 us. So a timer is late by up to a microsecond, never early.
//
// All this holds as far as the server keeps its data. A killed server may have lost the last second
// (appendfsync everysec), and runs or forgets timers accordingly.
//
// While the server is down schedule(), cancel() and size() throw BackendError; what they asked for
// may have been done, or may still be done. Pollers try again ten times a second, and go on when
// the server is back, with the data that it has kept. stop() hands back nothing if the server does
// not answer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend_error.h"
#include "core/joined_name.h"
#include "redis/link.h"
#include "redis/script.h"
#include "services/handler_runs.h"
#include "services/timer_service.h"
#include "services/worker.h"

namespace timerbench {

struct RedisPollerOptions {
  std::string queue = "";       // its name, to share it; empty: of this service alone
  Tick interval = 0;            // between looks; 0: sleep until the first timer is due
  Tick lease = 10'000'000'000;  // of what is claimed, in ns
  std::size_t batch = 100;      // the most timers that are claimed at once; at least 1
};

class RedisPoller {
 public:
  static constexpr ServiceTraits traits{
      .name = "redis_poller",
      .summary = "Redis sorted sets, claimed by pollers that sleep until the first timer",
      .precision = Precision::exact,
      .paper = "Redis delay queue",
      .remote = true};

  // Polls with config.threads threads, at least one, which run the handlers. The server is that of
  // redis_endpoint() and stays the same. Throws BackendUnavailable.
  explicit RedisPoller(const ServiceConfig& config, RedisPollerOptions options = {});

  RedisPoller(const RedisPoller&) = delete;
  RedisPoller& operator=(const RedisPoller&) = delete;

  // REQUIRES: not in the handler.
  ~RedisPoller();

  void schedule(TimerId id, Tick deadline);
  bool cancel(TimerId id);

  // The timers of a shared queue stay there for the other processes; none is handed back.
  std::vector<PendingTimer> stop();

  // Pending timers of all who share the queue.
  std::size_t size() const;

  std::uint64_t failures() const { return runs_.failures(); }
  std::uint64_t wakeups() const;

 private:
  struct Poller;
  using Reply = RedisConnection::Reply;

  // Runs a script on the keys.
  template <class... Words>
  Reply call(const RedisScript& script, RedisLink& link, int type, const Words&... words) const;

  bool shared() const { return !options_.queue.empty(); }
  void poll(Poller& poller, Alarm& alarm, const std::stop_token& ending);
  Reply claim(Poller& poller, Tick now);
  void give_back(Poller& poller);
  void run(Poller& poller, const redisReply& claimed);
  bool begin(Poller& poller, std::string_view member, std::string_view payload);
  std::optional<PendingTimer> timer(std::string_view member, std::string_view payload) const;
  void throw_foreign();
  std::vector<PendingTimer> take_all();

  Clock& clock_;
  const TimerId capacity_;
  const RedisPollerOptions options_;
  const RedisEndpoint endpoint_;
  const std::string prefix_;  // of the keys
  const std::string waiting_, claimed_, payload_, begun_;
  HandlerRuns runs_;
  std::atomic<bool> stopped_ = false;

  mutable std::mutex mutex_;  // of the following three
  mutable RedisLink callers_;
  std::uint64_t arming_;
  std::optional<BackendError> foreign_;  // an error that a poller met; thrown to the next caller

  const RedisScript schedule_, cancel_, claim_, give_back_, begin_, take_all_;
  std::list<Poller> pollers_;  // last: they use all the others
};

// Looks once an interval.
template <std::size_t kMilliseconds>
class RedisPollerEvery : public RedisPoller {
 public:
  static constexpr ServiceTraits traits{
      .name = kSettingName<"redis_poller", kMilliseconds>,
      .summary = "the same, by pollers that look every so many milliseconds",
      .precision = RedisPoller::traits.precision,
      .paper = RedisPoller::traits.paper,
      .remote = RedisPoller::traits.remote};

  explicit RedisPollerEvery(const ServiceConfig& config)
      : RedisPoller(config, {.interval = kMilliseconds * 1'000'000}) {}
};

}  // namespace timerbench
