// A durable timer queue in Redis.
//
// A timer is a member of one sorted set, whose score says when it may be claimed next: at its
// deadline, and once it is claimed, at the end of the lease. So a claim whose holder has died comes
// back by itself, and nothing has to look for it. Its payload is in a hash, and who holds it in
// another. Each call is one Lua script, so it is atomic:
//
//   schedule   score = deadline, payload; nobody holds it
//   claim      of those with a score that has passed: score = end of the lease, held by the token
//   complete   if it is held by that token, out of all three
//   give_back  if it is held by that token, score = now; nobody holds it
//   cancel     out of all three
//
// Cost:
//   every call    1 round trip, of any number of timers; with replicas one more, for WAIT
//   on the server O(log n) a timer; some 300 bytes a timer and its payload
//   fsync         as the server is set: appendfsync always synchronises once for all clients whose
//                 commands it has read together
//
// What is acknowledged is in the server's memory, and on its disk as far as its settings say. With
// `replicas`, so many have it in their memory too (WAIT, which is sent after the script, because
// inside a script it returns at once).
//
// Good: many producers and workers, where the loss of a second is bearable, or a replica is there.
// Bad: all timers are in memory.
// Follows: Redis in Action, 6.4.2; the visibility timeout of Amazon SQS.
// Deviates: one sorted set, where Bull and Sidekiq move members between several.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "durable/durable_queue.h"
#include "durable/tokens.h"
#include "redis/link.h"
#include "redis/script.h"

namespace timerbench {

class RedisQueue final : public DurableQueue {
 public:
  static constexpr const char* kFile = __builtin_FILE();  // DurableTraits::file

  // `replicas` must have acknowledged a change before a call returns. Throws BackendUnavailable.
  RedisQueue(const RedisEndpoint& endpoint, const DurableConfig& config, int replicas = 0);

  void schedule(std::span<const DurableTimer> timers) override;
  bool cancel(DurableId id) override;
  Claims claim(std::size_t most, Tick lease) override;
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override;
  void give_back(std::span<const ClaimedTimer> claims) override;
  std::size_t size() override;

 private:
  using Reply = RedisConnection::Reply;

  Reply call(RedisConnection& connection, const RedisScript& script, int type,
             std::span<const std::string> arguments) const;
  // Returns when the replicas have the change too.
  Reply change(const RedisScript& script, int type, std::span<const std::string> arguments);

  const DurableConfig config_;
  const int replicas_;
  const std::string due_, payload_, holder_;  // keys
  Tokens tokens_;
  RedisLink link_;
  const RedisScript schedule_, cancel_, claim_, complete_, give_back_;
};

}  // namespace timerbench
