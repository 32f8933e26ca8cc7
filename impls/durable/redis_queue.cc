#include "durable/redis_queue.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace timerbench {
namespace {

// Scores are microseconds: exact as doubles up to kLastDeadline.
constexpr Tick kScoreUnit = 1000;

constexpr Tick score_of(Tick instant) { return (instant + kScoreUnit - 1) / kScoreUnit; }

// KEYS are the sorted set, the payloads and the holders. A server that is short of memory refuses a
// write that needs some only if it is the first write of a script. So arming begins with one and
// does all or nothing; claiming begins with another, so that timers fire although memory is short.

constexpr const char* kSchedule = R"(
  for i = 1, #ARGV, 3 do
    local id, score, payload = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    redis.call('HSET', KEYS[2], id, payload)
    redis.call('ZADD', KEYS[1], score, id)
    redis.call('HDEL', KEYS[3], id)
  end
  return 0
)";

constexpr const char* kCancel = R"(
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('HDEL', KEYS[3], ARGV[1])
  return redis.call('ZREM', KEYS[1], ARGV[1])
)";

// Returns the first score that is left, or -1, and then an id and a payload for each.
constexpr const char* kClaim = R"(
  local now, lease_end, most, token = unpack(ARGV)
  local claimed = {-1}
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, most)) do
    redis.call('ZREM', KEYS[1], id)
    redis.call('ZADD', KEYS[1], lease_end, id)
    redis.call('HSET', KEYS[3], id, token)
    claimed[#claimed + 1] = id
    claimed[#claimed + 1] = redis.call('HGET', KEYS[2], id) or ''
  end
  local score = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
  if score then claimed[1] = tonumber(score) end
  return claimed
)";

constexpr const char* kComplete = R"(
  local held = {}
  for i = 1, #ARGV, 2 do
    local id, token = ARGV[i], ARGV[i + 1]
    if redis.call('HGET', KEYS[3], id) == token then
      redis.call('HDEL', KEYS[3], id)
      redis.call('HDEL', KEYS[2], id)
      held[#held + 1] = redis.call('ZREM', KEYS[1], id)
    else
      held[#held + 1] = 0
    end
  end
  return held
)";

constexpr const char* kGiveBack = R"(
  local now = ARGV[1]
  for i = 2, #ARGV, 2 do
    local id, token = ARGV[i], ARGV[i + 1]
    if redis.call('HGET', KEYS[3], id) == token then
      redis.call('HDEL', KEYS[3], id)
      redis.call('ZADD', KEYS[1], now, id)
    end
  end
  return 0
)";

// A payload begins with the exact deadline, because the score of a claimed timer is another.
std::string stored(const DurableTimer& timer) {
  return fmt::format("{}:{}", timer.deadline, timer.payload);
}

}  // namespace

RedisQueue::RedisQueue(const RedisEndpoint& endpoint, const DurableConfig& config, int replicas) try
    : config_(config),
      replicas_(replicas),
      due_(fmt::format("timerbench:durable:{{{}}}:due", config.queue)),
      payload_(fmt::format("timerbench:durable:{{{}}}:payload", config.queue)),
      holder_(fmt::format("timerbench:durable:{{{}}}:holder", config.queue)),
      link_(endpoint, config.patience),
      schedule_(link_.get(), kSchedule),
      cancel_(link_.get(), kCancel),
      claim_(link_.get(), kClaim),
      complete_(link_.get(), kComplete),
      give_back_(link_.get(), kGiveBack) {
} catch (const BackendError& error) {
  throw BackendUnavailable(error.what());
}

void RedisQueue::schedule(std::span<const DurableTimer> timers) {
  std::vector<std::string> arguments;
  arguments.reserve(3 * timers.size());
  for (const DurableTimer& timer : timers) {
    arguments.push_back(fmt::to_string(timer.id));
    arguments.push_back(fmt::to_string(score_of(timer.deadline)));
    arguments.push_back(stored(timer));
  }
  change(schedule_, REDIS_REPLY_INTEGER, arguments);
}

bool RedisQueue::cancel(DurableId id) {
  const std::string argument = fmt::to_string(id);
  return change(cancel_, REDIS_REPLY_INTEGER, {&argument, 1})->integer > 0;
}

Claims RedisQueue::claim(std::size_t most, Tick lease) {
  const Tick now = config_.now();
  const std::uint64_t token = tokens_.next();
  const std::string arguments[] = {fmt::to_string(now / kScoreUnit),
                                   fmt::to_string(score_of(lease_end(now, lease))),
                                   fmt::to_string(most), fmt::to_string(token)};
  const Reply reply = call(link_.get(), claim_, REDIS_REPLY_ARRAY, arguments);
  Claims claims;
  const long long first = reply->element[0]->integer;
  if (first >= 0) claims.next_wakeup = static_cast<Tick>(first) * kScoreUnit;
  for (std::size_t i = 1; i + 1 < reply->elements; i += 2) {
    const auto text = [&](std::size_t at) {
      return std::string_view(reply->element[at]->str, reply->element[at]->len);
    };
    ClaimedTimer claimed{.timer = {}, .token = token};
    const std::string_view id = text(i), payload = text(i + 1);
    const char* const end = payload.data() + payload.size();
    const auto id_end = std::from_chars(id.data(), id.data() + id.size(), claimed.timer.id);
    const auto deadline_end = std::from_chars(payload.data(), end, claimed.timer.deadline);
    if (id_end.ec != std::errc{} || deadline_end.ec != std::errc{} || deadline_end.ptr == end) {
      throw link_.get().error(
          fmt::format("{} holds \"{}\", which is no timer of this queue", due_, id),
          "keep other programs off this key");
    }
    claimed.timer.payload.assign(deadline_end.ptr + 1, end);
    claims.timers.push_back(std::move(claimed));
  }
  return claims;
}

std::vector<bool> RedisQueue::complete(std::span<const ClaimedTimer> claims) {
  std::vector<std::string> arguments;
  for (const ClaimedTimer& claim : claims) {
    arguments.push_back(fmt::to_string(claim.timer.id));
    arguments.push_back(fmt::to_string(claim.token));
  }
  const Reply reply = change(complete_, REDIS_REPLY_ARRAY, arguments);
  std::vector<bool> held;
  for (std::size_t i = 0; i < reply->elements; ++i) {
    held.push_back(reply->element[i]->integer > 0);
  }
  return held;
}

void RedisQueue::give_back(std::span<const ClaimedTimer> claims) {
  std::vector<std::string> arguments{fmt::to_string(config_.now() / kScoreUnit)};
  for (const ClaimedTimer& claim : claims) {
    arguments.push_back(fmt::to_string(claim.timer.id));
    arguments.push_back(fmt::to_string(claim.token));
  }
  call(link_.get(), give_back_, REDIS_REPLY_INTEGER, arguments);
}

std::size_t RedisQueue::size() {
  return static_cast<std::size_t>(link_.get().call(REDIS_REPLY_INTEGER, {"ZCARD", due_})->integer);
}

RedisQueue::Reply RedisQueue::call(RedisConnection& connection, const RedisScript& script, int type,
                                   std::span<const std::string> arguments) const {
  std::vector<std::string_view> command{"EVALSHA", "", "3", due_, payload_, holder_};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return script.run(connection, type, command);
}

RedisQueue::Reply RedisQueue::change(const RedisScript& script, int type,
                                     std::span<const std::string> arguments) {
  // WAIT counts what its own connection has written, so a new connection would not wait at all.
  RedisConnection& connection = link_.get();
  Reply reply = call(connection, script, type, arguments);
  if (replicas_ == 0) return reply;
  const std::string patience = fmt::to_string(config_.patience.count() / 2);
  const long long acknowledged =
      connection.call(REDIS_REPLY_INTEGER, {"WAIT", fmt::to_string(replicas_), patience})->integer;
  if (acknowledged < replicas_) {
    throw connection.error(
        fmt::format("{} of {} replicas have acknowledged a change", acknowledged, replicas_),
        "check the replicas; the change is on this server");
  }
  return reply;
}

}  // namespace timerbench
