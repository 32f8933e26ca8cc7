// A delay queue in Redis as the textbooks have it: one round trip an operation.
//
// schedule() is a ZADD, cancel() a ZREM whose answer says whether it was in time. advance() looks
// at the first member. If that is due, advance() removes it and fires it only if ZREM returned 1,
// because then no other consumer has. It repeats until the first member is not due.
//
// Invariants: those of redis/timer_zset.h.
//
// Cost:
//   schedule, cancel 1 round trip, 90 bytes out, 4 back; O(log n) on the server
//   advance 1 round trip, and 2 more per timer fired, each 90 bytes out, up to 40 back
//   next_wakeup O(1): no round trip
//
// Good: it takes a dozen lines in any language, and no script.
// Bad: when many timers fire, each of which waits for two answers: the way to the server costs ten
//   times the work there (redis_zset saves it); with now >= 2^53 every advance() takes and puts
//   back all timers that are later still.
// Follows: the delayed tasks of Redis in Action (Carlson 2013), section 6.4.2.
// Deviates: a member is only an id, the payload is the caller's; after a BackendError the queue can
//   only be destroyed.
#pragma once

#include <cstddef>

#include "redis/timer_zset.h"

namespace timerbench {

class RedisZsetPoll : public TimerZset {
 public:
  static constexpr Traits traits{.name = "redis_zset_poll",
                                 .summary = "Redis sorted set, one round trip an operation",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Carlson 2013, Redis in Action",
                                 .remote = true};

  explicit RedisZsetPoll(const QueueConfig& config) : TimerZset(config) {}

  void schedule(TimerId id, Tick deadline) {
    arm(id, deadline);
    send(id);
  }

  bool cancel(TimerId id) {
    if (!remove(id)) return false;
    disarm(id);
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    std::size_t fired = 0;
    for (;;) {
      const Reply first =
          connection_.call(REDIS_REPLY_ARRAY, {"ZRANGE", key_, "0", "0", "WITHSCORES"});
      const Tick head = first->elements == 2 ? score(*first->element[1]) : kNever;
      if (head > now) {
        return fired + finish(head, sink, [this](TimerId id) { send(id); });
      }
      const TimerId id = timer(*first->element[0]);
      if (remove(id)) fired += fire(id, sink);
    }
  }

 private:
  void send(TimerId id) {
    connection_.call(REDIS_REPLY_INTEGER, {"ZADD", key_, Score(deadlines_[id]), RedisMember(id)});
  }

  bool remove(TimerId id) {
    return connection_.call(REDIS_REPLY_INTEGER, {"ZREM", key_, RedisMember(id)})->integer == 1;
  }
};
static_assert(TimerQueue<RedisZsetPoll>);

}  // namespace timerbench
