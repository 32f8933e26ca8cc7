#include "durable/redis_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include "redis/cluster.h"

namespace timerbench {
namespace {

// Scores are microseconds: exact as doubles up to kLastDeadline.
constexpr Tick kScoreUnit = 1000;

constexpr Tick score_of(Tick instant) { return (instant + kScoreUnit - 1) / kScoreUnit; }

// For one shard of several: a node that hangs leaves half of the time to the others.
RedisRouter::Limits half_of(RedisRouter::Limits limits) {
  const auto now = std::chrono::steady_clock::now();
  limits.give_up = now + (limits.give_up - now) / 2;
  return limits;
}

// KEYS are the sorted set, the payloads, the holders and, if it is in the same slot, the stream
// that wakes those who wait. A server that is short of memory refuses a write that needs some only
// if it is the first write of a script. So arming begins with one and does all or nothing; claiming
// begins with another, so that timers fire although memory is short.

// ARGV are the last score to wake others for, and a score, an id and a payload for each. Returns
// whether the caller must wake others.
constexpr const char* kSchedule = R"(
  local earliest = math.huge
  for i = 2, #ARGV, 3 do
    local score, id, payload = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    earliest = math.min(earliest, tonumber(score))
    redis.call('HSET', KEYS[2], id, payload)
    redis.call('ZADD', KEYS[1], score, id)
    redis.call('HDEL', KEYS[3], id)
  end
  if earliest > tonumber(ARGV[1]) then return 0 end
  if earliest > tonumber(redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) then return 0 end
  if not KEYS[4] then return 1 end
  redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'w', '')
  return 0
)";

constexpr const char* kCancel = R"(
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('HDEL', KEYS[3], ARGV[1])
  return redis.call('ZREM', KEYS[1], ARGV[1])
)";

// Those that may have nothing to write begin with a write of nothing: a server that was the master
// and is a replica refuses it, and the client looks for the master. Else it would stay with a copy.

// Returns the first score that is left, or -1, and then an id and a payload for each.
constexpr const char* kClaim = R"(
  redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0)
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
  redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0)
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

// Returns whether the caller must wake others.
constexpr const char* kGiveBack = R"(
  redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0)
  local now, wakes = ARGV[#ARGV], 0
  for i = 1, #ARGV - 1, 2 do
    local id, token = ARGV[i], ARGV[i + 1]
    if redis.call('HGET', KEYS[3], id) == token then
      redis.call('HDEL', KEYS[3], id)
      redis.call('ZADD', KEYS[1], now, id)
      wakes = 1
    end
  end
  if wakes == 0 or not KEYS[4] then return wakes end
  redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'w', '')
  return 0
)";

// A payload begins with the exact deadline, because the score of a claimed timer is another.
std::string stored(const DurableTimer& timer) {
  return fmt::format("{}:{}", timer.deadline, timer.payload);
}

constexpr int kFirstVersion = 5;

// When to ask again for a shard that did not answer.
constexpr Tick kSoon = 10'000'000;

// All nodes that are only busy answer within it.
constexpr std::chrono::nanoseconds kShortestWait = std::chrono::seconds(1);

// Whether a node did not answer, so that others still may.
bool is_silence(const BackendError& error) {
  return dynamic_cast<const BackendUnavailable*>(&error) != nullptr ||
         dynamic_cast<const RedisAnswerLost*>(&error) != nullptr;
}

// The id of the first entry of an answer to XREAD: a list of streams, each a name and a list of
// entries, each an id and its fields. There is none if it was deleted before the server answered.
std::optional<std::string> first_entry(const redisReply& streams) {
  const redisReply* part = &streams;
  for (const std::size_t at : {0, 1, 0, 0}) {
    if (part->type != REDIS_REPLY_ARRAY || part->elements <= at) return std::nullopt;
    part = part->element[at];
  }
  return std::string(part->str, part->len);
}

}  // namespace

RedisQueue::RedisQueue(std::unique_ptr<RedisRouter> router, const DurableConfig& config,
                       Settings settings) try
    : config_(config),
      settings_(settings),
      shards_(make_shards(config.queue, settings.shards)),
      wake_(fmt::format("timerbench:durable:{{{}}}:wake", config.queue)),
      router_(std::move(router)),
      schedule_(load(kSchedule)),
      cancel_(load(kCancel)),
      claim_(load(kClaim)),
      complete_(load(kComplete)),
      give_back_(load(kGiveBack)) {
  check_version();
} catch (const BackendError& error) {
  throw BackendUnavailable(error.what());
}

RedisQueue::~RedisQueue() {
  try {
    await_posts();
  } catch (const BackendError&) {  // a destructor cannot report it
  }
}

void RedisQueue::await_posts() {
  if (has_posted_) with(shards_[0].due, limits(), [](RedisConnection&) {});
}

void RedisQueue::schedule(std::span<const DurableTimer> timers) { arm(timers, settings_.replicas); }

void RedisQueue::post(std::span<const DurableTimer> timers) {
  if (settings_.awaits_posts) return arm(timers, 0);
  const Words arguments = arming(timers)[0];
  if (arguments.empty()) return;
  auto command = command_of(shards_[0], arguments);
  router_->with(shards_[0].due, limits(), [&](RedisConnection& connection) {
    has_posted_ = true;
    schedule_.post(connection, command);
  });
}

std::vector<RedisQueue::Words> RedisQueue::arming(std::span<const DurableTimer> timers) const {
  const Tick last = lease_end(config_.now(), kLongestAwait);
  std::vector<Words> arguments(shards_.size());
  for (const DurableTimer& timer : timers) {
    Words& words = arguments[shard_of(timer.id)];
    if (words.empty()) words.push_back(fmt::to_string(score_of(last)));
    words.push_back(fmt::to_string(score_of(timer.deadline)));
    words.push_back(fmt::to_string(timer.id));
    words.push_back(stored(timer));
  }
  return arguments;
}

void RedisQueue::arm(std::span<const DurableTimer> timers, int replicas) {
  const Limits limits = this->limits();
  const std::vector<Words> arguments = arming(timers);
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    if (arguments[i].empty()) continue;
    Reply reply;
    change(shards_[i], schedule_, REDIS_REPLY_INTEGER, arguments[i], replicas, limits, reply);
    if (reply->integer != 0) wake(limits);
  }
}

bool RedisQueue::cancel(DurableId id) {
  const std::string argument = fmt::to_string(id);
  Reply reply;
  change(shards_[shard_of(id)], cancel_, REDIS_REPLY_INTEGER, {&argument, 1}, settings_.replicas,
         limits(), reply);
  return reply->integer > 0;
}

Claims RedisQueue::claim(std::size_t most, Tick lease) {
  using Clock = std::chrono::steady_clock;
  const auto wait_for_others =
      std::max(kShortestWait,
               std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(lease / 4)));
  const std::uint64_t token = tokens_.next();
  Limits limits = this->limits();
  Claims claims;
  bool is_answered = false;
  for (std::size_t i = 0; i < shards_.size() && claims.timers.size() < most; ++i) {
    const bool is_last = i + 1 == shards_.size();
    Limits own = is_last ? limits : half_of(limits);
    own.await_recovery = is_last && !is_answered;
    try {
      Claims more = claim_from(shards_[(token + i) % shards_.size()], most - claims.timers.size(),
                               lease, token, own);
      is_answered = true;
      if (claims.timers.empty() && !more.timers.empty()) {
        limits.give_up = std::min(limits.give_up, Clock::now() + wait_for_others);
      }
      std::ranges::move(more.timers, std::back_inserter(claims.timers));
      claims.next_wakeup = std::min(claims.next_wakeup, more.next_wakeup);
    } catch (const BackendError& error) {
      if (is_silence(error)) {
        if (own.await_recovery) throw;
        claims.next_wakeup = std::min(claims.next_wakeup, config_.now() + kSoon);
      } else {
        // What was claimed would be lost with the error. The next claim meets it again.
        if (claims.timers.empty()) throw;
        break;
      }
    }
    if (!claims.timers.empty() && Clock::now() >= limits.give_up) break;
  }
  return claims;
}

std::vector<bool> RedisQueue::complete(std::span<const ClaimedTimer> claims) {
  const std::vector<Words> arguments = sort_by_shard(claims);
  std::vector<Reply> replies(shards_.size());
  const auto failure = visit(arguments, [&](std::size_t i, const Limits& limits) {
    change(shards_[i], complete_, REDIS_REPLY_ARRAY, arguments[i], settings_.replicas, limits,
           replies[i]);
  });
  std::vector<bool> held;
  std::vector<std::size_t> read(shards_.size());  // of each reply
  for (const ClaimedTimer& claim : claims) {
    const std::size_t shard = shard_of(claim.timer.id);
    const std::pair key(claim.timer.id, claim.token);
    const bool completes = replies[shard] && replies[shard]->element[read[shard]++]->integer > 0;
    held.push_back(completes || completed_.contains(key));
    if (failure && completes) completed_.insert(key);
  }
  if (failure) std::rethrow_exception(failure);
  completed_.clear();
  return held;
}

void RedisQueue::give_back(std::span<const ClaimedTimer> claims) {
  std::vector<Words> arguments = sort_by_shard(claims);
  const auto failure = visit(arguments, [&](std::size_t i, const Limits& limits) {
    arguments[i].push_back(fmt::to_string(config_.now() / kScoreUnit));
    bool wakes = false;
    with(shards_[i].due, limits, [&](RedisConnection& connection) {
      wakes =
          run(connection, shards_[i], give_back_, REDIS_REPLY_INTEGER, arguments[i])->integer != 0;
    });
    if (wakes) wake(limits);
  });
  if (failure) std::rethrow_exception(failure);
}

std::exception_ptr RedisQueue::visit(
    const std::vector<Words>& arguments,
    const std::function<void(std::size_t, const Limits&)>& use) const {
  const Limits limits = this->limits();
  std::exception_ptr failure;
  auto left = std::ranges::count_if(arguments, [](const Words& words) { return !words.empty(); });
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    if (arguments[i].empty()) continue;
    const bool is_last = --left == 0;
    try {
      use(i, is_last ? limits : half_of(limits));
    } catch (const BackendError&) {
      if (!failure) failure = std::current_exception();
    }
  }
  return failure;
}

void RedisQueue::wake(Limits limits) {
  limits.await_recovery = false;
  try {
    with(wake_, limits, [&](RedisConnection& connection) {
      connection.call(REDIS_REPLY_STRING, {"XADD", wake_, "MAXLEN", "1", "*", "w", ""});
    });
  } catch (const BackendError&) {
    // The timers are there, and who waits looks again within a second.
  }
}

bool RedisQueue::await_earlier(Tick, std::chrono::nanoseconds longest) try {
  using Clock = std::chrono::steady_clock;
  await_posts();
  if (!waiting_) waiting_ = router_->another();
  const auto until = Clock::now() + longest;
  const Limits limits{.give_up = until + config_.patience, .await_recovery = false};
  bool is_woken = false;
  waiting_->with(wake_, limits, [&](RedisConnection& connection) {
    do {
      if (!connection.is_asked()) {
        // It may be to another server, whose clock is behind: its entries are numbered by its clock.
        if (std::exchange(woken_by_, connection.number()) != connection.number()) {
          last_wake_ = "0-0";
        }
        connection.ask({"XREAD", "BLOCK", "1000", "STREAMS", wake_, last_wake_},
                       std::chrono::seconds(1) + config_.patience);
      }
      const Reply reply = connection.answer_by(until);
      if (!reply) return;
      is_woken = reply->type == REDIS_REPLY_ARRAY;  // else a second is over
      if (is_woken) last_wake_ = first_entry(*reply).value_or(last_wake_);
    } while (!is_woken && Clock::now() < until);
  });
  return is_woken;
} catch (const RedisReplyError&) {
  waiting_.reset();  // it may be to a server that was the master
  throw;
}

std::size_t RedisQueue::size() {
  const Limits limits = this->limits();
  std::size_t size = 0;
  for (const Shard& shard : shards_) {
    with(shard.due, limits, [&](RedisConnection& connection) {
      size += static_cast<std::size_t>(
          connection.call(REDIS_REPLY_INTEGER, {"ZCARD", shard.due})->integer);
    });
  }
  return size;
}

std::string RedisQueue::keys_of(std::string_view prefix) {
  return fmt::format("timerbench:durable:{{{}*", prefix);
}

RedisQueue::Shard::Shard(std::string_view tag)
    : due(fmt::format("timerbench:durable:{{{}}}:due", tag)),
      payload(fmt::format("timerbench:durable:{{{}}}:payload", tag)),
      holder(fmt::format("timerbench:durable:{{{}}}:holder", tag)) {}

std::vector<RedisQueue::Shard> RedisQueue::make_shards(const std::string& queue,
                                                       std::size_t count) {
  if (count == 1) return {Shard(queue)};
  std::vector<Shard> shards;
  for (int suffix = 0; shards.size() < count; ++suffix) {
    Shard shard(fmt::format("{}:{}", queue, suffix));
    if (redis_slot(shard.due) * count / kRedisSlots == shards.size()) {
      shards.push_back(std::move(shard));
    }
  }
  return shards;
}

std::size_t RedisQueue::shard_of(DurableId id) const {
  constexpr std::uint64_t kGolden = 0x9e37'79b9'7f4a'7c15;  // spreads ids that follow each other
  return (id * kGolden >> 32) % shards_.size();
}

std::vector<RedisQueue::Words> RedisQueue::sort_by_shard(
    std::span<const ClaimedTimer> claims) const {
  std::vector<Words> arguments(shards_.size());
  for (const ClaimedTimer& claim : claims) {
    Words& words = arguments[shard_of(claim.timer.id)];
    words.push_back(fmt::to_string(claim.timer.id));
    words.push_back(fmt::to_string(claim.token));
  }
  return arguments;
}

void RedisQueue::check_version() {
  with(shards_[0].due, limits(), [&](RedisConnection& connection) {
    const Reply reply = connection.call(REDIS_REPLY_STRING, {"INFO", "server"});
    constexpr std::string_view kName = "redis_version:";
    const std::string_view text(reply->str, reply->len);
    const auto at = text.find(kName);
    if (at == text.npos) return;  // it does not tell
    const std::string_view rest = text.substr(at + kName.size());
    const std::string_view version = rest.substr(0, rest.find('\r'));
    int major = 0;
    std::from_chars(version.data(), version.data() + version.size(), major);
    if (major >= kFirstVersion) return;
    throw connection.error(fmt::format("its version {} has no streams (XADD)", version),
                           fmt::format("take {} or newer", kFirstVersion));
  });
}

RedisScript RedisQueue::load(std::string_view text) {
  std::optional<RedisScript> script;
  with(shards_[0].due, limits(),
       [&](RedisConnection& connection) { script.emplace(connection, text); });
  return *script;
}

RedisQueue::Limits RedisQueue::limits() const {
  return {.give_up = std::chrono::steady_clock::now() + config_.patience};
}

void RedisQueue::with(std::string_view key, const Limits& limits, const RedisRouter::Use& use) {
  router_->with(key, limits, [&](RedisConnection& connection) {
    if (std::exchange(has_posted_, false)) sync(connection);
    use(connection);
  });
}

// The router would take a RedisReplyError for one of the command that follows, and only repeat that.
void RedisQueue::sync(RedisConnection& connection) {
  try {
    connection.sync();
  } catch (const RedisReplyError& error) {
    throw BackendError(error.what());
  }
}

std::vector<std::string_view> RedisQueue::command_of(const Shard& shard,
                                                     std::span<const std::string> arguments) const {
  std::vector<std::string_view> command{"EVALSHA", "", "3", shard.due, shard.payload, shard.holder};
  if (shards_.size() == 1) {
    command[2] = "4";
    command.push_back(wake_);
  }
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

RedisQueue::Reply RedisQueue::run(RedisConnection& connection, const Shard& shard,
                                  const RedisScript& script, int type,
                                  std::span<const std::string> arguments) const {
  auto command = command_of(shard, arguments);
  return script.run(connection, type, command);
}

void RedisQueue::change(const Shard& shard, const RedisScript& script, int type,
                        std::span<const std::string> arguments, int replicas, const Limits& limits,
                        Reply& reply) {
  with(shard.due, limits, [&](RedisConnection& connection) {
    reply = run(connection, shard, script, type, arguments);
    if (replicas == 0) return;
    // WAIT counts what its own connection has written. It takes half of what is left, because it may
    // end 100 ms late, and its answer must come within the patience.
    const auto left = limits.left();
    connection.set_patience(left);
    const std::string words[] = {
        fmt::to_string(replicas),
        fmt::to_string(std::max(left / 2, std::chrono::milliseconds(1)).count())};
    const long long acknowledged =
        connection.call(REDIS_REPLY_INTEGER, {"WAIT", words[0], words[1]})->integer;
    if (acknowledged >= replicas) return;
    throw connection.error(
        fmt::format("{} of {} replicas have acknowledged a change", acknowledged, replicas),
        "check the replicas; the change is on this server");
  });
}

Claims RedisQueue::claim_from(const Shard& shard, std::size_t most, Tick lease, std::uint64_t token,
                              const Limits& limits) {
  Claims claims;
  with(shard.due, limits, [&](RedisConnection& connection) {
    std::string foreign;  // a member that is no timer
    const Tick now = config_.now();
    const std::string arguments[] = {fmt::to_string(now / kScoreUnit),
                                     fmt::to_string(score_of(lease_end(now, lease))),
                                     fmt::to_string(most), fmt::to_string(token)};
    const Reply reply = run(connection, shard, claim_, REDIS_REPLY_ARRAY, arguments);
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
        foreign = id;
        continue;
      }
      claimed.timer.payload.assign(deadline_end.ptr + 1, end);
      claims.timers.push_back(std::move(claimed));
    }
    // Timers are not kept back by what came with them; it is due again after the lease.
    if (!foreign.empty() && claims.timers.empty()) {
      throw connection.error(
          fmt::format("{} holds \"{}\", which is no timer of this queue", shard.due, foreign),
          "keep other programs off this key, and let the server evict nothing");
    }
  });
  return claims;
}

}  // namespace timerbench
