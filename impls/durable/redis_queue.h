// A durable timer queue in Redis: on one server, on a master with replicas, or in a cluster.
//
// A timer is a member of a sorted set, whose score says when it may be claimed next: at its
// deadline, and once it is claimed, at the end of the lease. So a claim whose holder has died comes
// back by itself, and nothing has to look for it. Its payload is in a hash, and who holds it in
// another. What is done to such a shard is one Lua script, so it is atomic:
//
//   schedule   score = deadline, payload; nobody holds it
//   claim      of those with a score that has passed: score = end of the lease, held by the token
//   complete   if it is held by that token, out of all three
//   give_back  if it is held by that token, score = now; nobody holds it
//   cancel     out of all three
//
// One shard is enough for one server. In a cluster there are several, and an id belongs to one by a
// hash. The three keys of a shard have the same hash tag, so they are in one slot. The tags are
// chosen so that shard s of S has a slot in the s-th part of all slots; and because a node has whole
// ranges of slots, each node has its share of shards. claim() goes round the shards until it has
// enough, and each claim begins at the next shard. It passes over a shard whose node is down or does
// not answer, as long as another answers. Once it has claimed something, it waits for the others for
// at most a quarter of the lease, or a second. (What a node claims and cannot tell is due again after
// the lease.)
//
// Cost:
//   schedule, complete, give_back
//                 1 round trip for each shard that they concern, of any number of timers; schedule
//                 and complete take one more with replicas, for WAIT
//   cancel        1 round trip, and one more for WAIT
//   claim, size   1 round trip for each shard; claim takes fewer if it soon has enough
//   post          no round trip on one server: the next call reads the answer; but it sends the
//                 script each time, half a KiB, since nobody would see that the server has forgotten
//                 it; in a cluster as schedule without WAIT
//   waking        XADD to a stream of one entry, by what arms or gives back something that is due
//                 within a second and before all others of its shard; with shards 1 more round trip
//   await_earlier 1 round trip a second, a blocking XREAD on a connection of its own, which stays
//                 blocked from one wait to the next
//   on the server O(log n) a timer; some 250 bytes a timer and its payload in memory, on each replica
//                 too; with an append-only file 130 to 200 bytes and the payload on disk
//   fsync         as the server is set: appendfsync always synchronises once for all clients whose
//                 commands it has read together
//
// What is acknowledged is in the server's memory, and on its disk as far as its settings say. With
// `replicas`, so many have it in their memory too (WAIT, which is sent after the script and on the
// same connection: inside a script it returns at once, and so it does on a new connection). While no
// replica answers, schedule(), cancel() and complete() throw although their change is on the master:
// producers and workers stop until one is back.
// Replication is asynchronous all the same. A claim is not waited for, so after a failover its timer
// may be handed out before the lease ends; complete() tells the first holder. A change that WAIT
// gives up on is on the master, and may yet reach the replicas, or not. A master that was cut off
// from its replicas still takes the writes of clients on its side; without WAIT these are lost when
// it comes back. In a cluster, also WAIT only makes a loss less probable: it says that one replica
// has the change, not that this one will be promoted. And a master that keeps nothing on disk must
// not start again before its replica is promoted, else the replica copies an empty server.
//
// Who waits reads a stream of the queue, in a cluster on one node, and blocks there. A stream wakes
// all who wait, and an entry stays, so nobody misses one between a claim and the wait; a list would
// wake one client only, which may be busy then. How long to wait is the client's matter: Redis looks
// only every 100 ms, as its `hz` is by default, whether a blocked client has waited long enough,
// unless something else wakes it. So a client leaves that connection blocked when its time is over.
//
// What may be lost is taken to be two seconds old at most. With appendfsync everysec that is the second
// between two fsyncs, and as much again if one of them is slow, as Redis' documentation says. In a
// cluster it is the node timeout of half a second, after which a silent master is replaced, the
// election, and what replication lags behind, which nobody limits.
//
// A call that concerns several shards is several steps: when it throws, some of them may have been
// done. complete() and give_back() take all steps that they can, and a repeated complete() tells
// what the first has completed. While a slot is moved to another node, Redis answers TRYAGAIN to a
// script unless all keys that it names exist on one side; then calls to that shard wait, and claim()
// passes over it. A shard of which nobody holds a timer has no key for that, so it waits until its
// slot has moved.
//
// Good: many producers and workers, where the loss of a second is bearable, or a replica is there;
//       in a cluster, more timers than one server's memory or processor can take.
// Bad: all timers are in memory. With shards an idle worker asks each of them.
// Follows: Redis from version 5; Redis in Action, 6.4.2; the visibility timeout of Amazon SQS; the
//          Redis Cluster specification.
// Deviates: one sorted set, where Bull and Sidekiq move members between several.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "durable/durable_queue.h"
#include "durable/tokens.h"
#include "redis/router.h"
#include "redis/script.h"

namespace timerbench {

class RedisQueue final : public DurableQueue {
 public:
  static constexpr const char* kFile = __builtin_FILE();  // DurableTraits::file

  struct Settings {
    std::size_t shards = 1;    // the same for all clients of a queue
    int replicas = 0;          // must have acknowledged a change before a call returns
    bool awaits_posts = true;  // else post() does not wait for the answer; only for one server
  };

  // A pattern of Redis for the keys of all queues whose names begin so.
  static std::string keys_of(std::string_view prefix);

  // Throws BackendUnavailable.
  RedisQueue(std::unique_ptr<RedisRouter> router, const DurableConfig& config, Settings settings);

  ~RedisQueue() override;

  void schedule(std::span<const DurableTimer> timers) override;
  void post(std::span<const DurableTimer> timers) override;
  bool cancel(DurableId id) override;
  Claims claim(std::size_t most, Tick lease) override;
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override;
  void give_back(std::span<const ClaimedTimer> claims) override;
  bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) override;
  std::size_t size() override;

 private:
  using Reply = RedisConnection::Reply;
  using Limits = RedisRouter::Limits;
  using Words = std::vector<std::string>;

  struct Shard {
    explicit Shard(std::string_view tag);
    std::string due, payload, holder;  // keys
  };

  static std::vector<Shard> make_shards(const std::string& queue, std::size_t count);
  std::size_t shard_of(DurableId id) const;
  // Words for each shard.
  std::vector<Words> sort_by_shard(std::span<const ClaimedTimer> claims) const;
  // Calls `use` with each shard that has arguments. One that is silent leaves half of the time to the
  // others. If one fails, goes on with the others, and then returns the first BackendError.
  std::exception_ptr visit(const std::vector<Words>& arguments,
                           const std::function<void(std::size_t, const Limits&)>& use) const;

  // Throws BackendUnavailable if the server is too old.
  void check_version();
  RedisScript load(std::string_view text);
  Limits limits() const;
  // The arguments of schedule_ for each shard.
  std::vector<Words> arming(std::span<const DurableTimer> timers) const;
  void arm(std::span<const DurableTimer> timers, int replicas);
  // Of a script.
  std::vector<std::string_view> command_of(const Shard& shard,
                                           std::span<const std::string> arguments) const;
  // As that of the router; but first it waits for the answers to what was posted, and throws the
  // first error among them.
  void with(std::string_view key, const Limits& limits, const RedisRouter::Use& use);
  Reply run(RedisConnection& connection, const Shard& shard, const RedisScript& script, int type,
            std::span<const std::string> arguments) const;
  // Returns when the replicas have the change too. The reply is there even if they do not have it in
  // time, and it throws.
  void change(const Shard& shard, const RedisScript& script, int type,
              std::span<const std::string> arguments, int replicas, const Limits& limits,
              Reply& reply);
  // Waits for the answers to what this connection has posted.
  static void sync(RedisConnection& connection);
  // Waits for the answers to what was posted, and throws the first error among them.
  void await_posts();
  // Tells those who wait.
  void wake(Limits limits);
  Claims claim_from(const Shard& shard, std::size_t most, Tick lease, std::uint64_t token,
                    const Limits& limits);

  const DurableConfig config_;
  const Settings settings_;
  const std::vector<Shard> shards_;
  const std::string wake_;      // the key of a stream
  std::string last_wake_;       // that this client has seen
  std::uint64_t woken_by_ = 0;  // the connection that has told so
  const std::unique_ptr<RedisRouter> router_;
  std::unique_ptr<RedisRouter> waiting_;  // made when it is needed
  bool has_posted_ = false;               // and not yet read the answers
  // Completed by a complete() that threw all the same: the next one tells it.
  std::set<std::pair<DurableId, std::uint64_t>> completed_;  // with their tokens
  Tokens tokens_;
  const RedisScript schedule_, cancel_, claim_, complete_, give_back_;
};

}  // namespace timerbench
