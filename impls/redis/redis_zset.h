// A delay queue in Redis, used well: a sorted set, pipelined, and emptied by a script.
//
// schedule() is a ZADD and cancel() a ZREM. Neither waits: the client remembers which of its timers
// are pending, so it needs no answer, and sends the commands in batches of 64 while it reads the
// answers to the batch before. advance() sends a Lua script behind them. In one atomic step the
// script reads the first members up to `now` and removes exactly these, so that no timer is lost
// that is added in between and none is taken twice. It takes at most 1000 at a time, because other
// clients wait while a script runs.
//
// The server is asked at every advance(), even if the client knows that nothing can be due: a
// queue that is shared must, since others may have added to it. That round trip is the price of
// ticking; a caller that goes by next_wakeup() pays it only for ticks that may have work.
//
// Invariants: those of redis/timer_zset.h.
//
// Cost:
//   schedule, cancel 1/64 round trip, 90 bytes out, 4 back; O(log n) on the server
//   advance 1 round trip, and 1 more per 1000 fired; 130 bytes out, 14 back per timer
//   next_wakeup O(1): no round trip
//
// Good: when several processes share the timers, or the timers must outlive the process.
// Bad: it costs some hundred to some thousand times what a structure in memory does; a timer that
//   is taken while the connection breaks is lost; with now >= 2^53 every advance() takes and puts
//   back all timers that are later still.
// Follows: delay queues that pop by a script, as those of Bull and Redisson do.
// Deviates: a member is only an id, the payload is the caller's; deadlines are not read back from
//   the server; after a BackendError the queue can only be destroyed.
#pragma once

#include <cstddef>

#include "redis/script.h"
#include "redis/timer_zset.h"

namespace timerbench {

class RedisZset : public TimerZset {
 public:
  static constexpr Traits traits{.name = "redis_zset",
                                 .summary = "Redis sorted set, pipelined, batch pop by script",
                                 .precision = Precision::exact,
                                 .ordered = true,
                                 .paper = "Redis delay queue",
                                 .remote = true};

  explicit RedisZset(const QueueConfig& config) try
      : TimerZset(config), take_due_(connection_, kTakeDue) {
  } catch (const BackendError& error) {
    throw BackendUnavailable(error.what());
  }

  void schedule(TimerId id, Tick deadline) {
    arm(id, deadline);
    send(id);
  }

  bool cancel(TimerId id) {
    if (!pending(id)) return false;
    disarm(id);
    connection_.post({"ZREM", key_, RedisMember(id)});
    return true;
  }

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (now < now_) return 0;
    now_ = now;
    std::size_t fired = 0;
    Tick head = kNever;
    do {
      const Reply reply = take_due_.call(connection_, REDIS_REPLY_ARRAY, "1", key_, Score(now_));
      const redisReply& due = *reply->element[0];
      for (std::size_t i = 0; i < due.elements; ++i) fired += fire(timer(*due.element[i]), sink);
      head = reply->elements == 2 ? score(*reply->element[1]) : kNever;
    } while (head <= std::min(now, kMaxScore));
    return fired + finish(head, sink, [this](TimerId id) { send(id); });
  }

  // Waits until the server has carried out what was sent. Throws BackendError if it has not.
  void sync() { connection_.sync(); }

 private:
  // The members taken, and the score of the first one left.
  static constexpr const char* kTakeDue = R"(
    local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1000)
    if #due > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, #due - 1) end
    local head = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
    return {due, head[2]}
  )";

  void send(TimerId id) {
    connection_.post({"ZADD", key_, Score(deadlines_[id]), RedisMember(id)});
  }

  RedisScript take_due_;
};
static_assert(TimerQueue<RedisZset>);

}  // namespace timerbench
