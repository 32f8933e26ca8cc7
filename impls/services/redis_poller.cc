#include "services/redis_poller.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <system_error>
#include <utility>

#include "redis/names.h"
#include "redis/server.h"

namespace timerbench {
namespace {

// How long pollers wait before they try a failed server again.
constexpr Tick kPause = 100'000'000;

// How long an earlier timer of another process may stay unnoticed.
constexpr Tick kLongestSharedSleep = 100'000'000;

constexpr Tick kScoreUnit = 1000;
constexpr Tick kExactScore = Tick{1} << 53;
constexpr Tick kCoarseStep = 4;  // between doubles, in the last quarter of the range
constexpr Tick kLastInstant = kNever - 1;

// The score of a deadline: not earlier than it.
constexpr Tick score_of(Tick deadline) {
  const Tick score = deadline / kScoreUnit + (deadline % kScoreUnit != 0);
  return score <= kExactScore ? score : (score + kCoarseStep - 1) / kCoarseStep * kCoarseStep;
}

// The last score that is due.
constexpr Tick due_score(Tick now) {
  if (now == kLastInstant) return score_of(now);
  const Tick score = now / kScoreUnit;
  return score <= kExactScore ? score : score / kCoarseStep * kCoarseStep;
}

// When a score is due.
constexpr Tick instant_of(Tick score) {
  return score > kLastInstant / kScoreUnit ? kLastInstant : score * kScoreUnit;
}

std::string_view text(const redisReply& reply) { return {reply.str, reply.len}; }

// KEYS are waiting, claimed, payload and begun.

// HSET is first because a server that is short of memory refuses it, but no command after a first
// write: the script does all or nothing.
constexpr const char* kSchedule = R"(
  local member, score, payload = unpack(ARGV)
  redis.call('HSET', KEYS[3], member, payload)
  redis.call('ZADD', KEYS[1], score, member)
  redis.call('HDEL', KEYS[4], member)
  return redis.call('ZREM', KEYS[2], member)
)";

constexpr const char* kCancel = R"(
  local found = redis.call('ZREM', KEYS[1], ARGV[1]) + redis.call('ZREM', KEYS[2], ARGV[1])
  if found > 0 then redis.call('HDEL', KEYS[3], ARGV[1]) end
  return found
)";

// Returns {{member, payload}, ...} and the first score that is left in either set, or -1. ZREM is
// before ZADD so that timers fire although memory is short.
constexpr const char* kClaim = R"(
  local now, lease, batch = unpack(ARGV)
  local function up_to_now(key)
    return ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, batch))
  end
  for _, member in up_to_now(KEYS[2]) do
    redis.call('ZREM', KEYS[2], member)
    redis.call('ZADD', KEYS[1], now, member)
  end
  local claimed = {}
  for i, member in up_to_now(KEYS[1]) do
    redis.call('ZREM', KEYS[1], member)
    redis.call('ZADD', KEYS[2], lease, member)
    claimed[i] = {member, redis.call('HGET', KEYS[3], member) or ''}
  end
  local first = math.huge
  for i = 1, 2 do
    local score = redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')[2]
    if score then first = math.min(first, score) end
  end
  return {claimed, first < math.huge and first or -1}
)";

// If the poller's last timer has begun and the answer was lost, it waits again, unless it was armed
// anew since: then it was moved. HDEL is first so that this works although memory is short.
constexpr const char* kGiveBack = R"(
  local lease, now, member, payload, poller, answered = unpack(ARGV)
  if redis.call('HGET', KEYS[4], member) == payload .. poller then
    redis.call('HDEL', KEYS[4], member)
    if answered == '0' then
      redis.call('HSET', KEYS[3], member, payload)
      redis.call('ZADD', KEYS[1], now, member)
    end
  end
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], lease, lease)) do
    redis.call('ZREM', KEYS[2], member)
    redis.call('ZADD', KEYS[1], now, member)
  end
  return 0
)";

constexpr const char* kBegin = R"(
  local member, payload, lease, poller, last, last_payload = unpack(ARGV)
  local score = redis.call('ZSCORE', KEYS[2], member)
  if not score or tonumber(score) ~= tonumber(lease) then return 0 end
  if redis.call('HGET', KEYS[3], member) ~= payload then return 0 end
  redis.call('HDEL', KEYS[3], member)
  if redis.call('HGET', KEYS[4], last) == last_payload .. poller then
    redis.call('HDEL', KEYS[4], last)
  end
  redis.call('HSET', KEYS[4], member, payload .. poller)
  return redis.call('ZREM', KEYS[2], member)
)";

// Returns {{member, payload, ...}, {member, payload .. poller, ...}}: timers that have not begun,
// and those that have.
constexpr const char* kTakeAll = R"(
  local all = {redis.call('HGETALL', KEYS[3]), redis.call('HGETALL', KEYS[4])}
  redis.call('UNLINK', unpack(KEYS))
  return all
)";

}  // namespace

struct RedisPoller::Poller {
  // A timer, as the server has it, that the server was asked to begin.
  struct Begin {
    std::string member, payload;
    bool answered = true;
  };

  explicit Poller(RedisPoller& service)
      : name(unique_redis_name()),
        link(service.endpoint_),
        worker(service.clock_, [this, &service](Alarm& alarm, const std::stop_token& ending) {
          service.poll(*this, alarm, ending);
        }) {}

  void set_last(Begin begin) {
    const std::lock_guard lock(mutex);
    last = std::move(begin);
  }

  const std::string name;
  RedisLink link;
  std::string lease;                   // of the claim it works on; empty: none
  std::atomic<Tick> asleep_until = 0;  // 0: awake, and about to look
  std::mutex mutex;                    // of the following, which stop() reads
  Begin last;
  Worker worker;  // last: it uses all the others
};

RedisPoller::RedisPoller(const ServiceConfig& config, RedisPollerOptions options) try
    : clock_(config.clock),
      capacity_(config.capacity),
      options_(std::move(options)),
      endpoint_(redis_endpoint()),
      prefix_(fmt::format("timerbench:{{{}}}", shared() ? options_.queue : unique_redis_name())),
      waiting_(prefix_ + ":waiting"),
      claimed_(prefix_ + ":claimed"),
      payload_(prefix_ + ":payload"),
      begun_(prefix_ + ":begun"),
      runs_(config.handler),
      callers_(endpoint_),
      arming_(std::random_device()() * (std::uint64_t{1} << 32)),
      schedule_(callers_.get(), kSchedule),
      cancel_(callers_.get(), kCancel),
      claim_(callers_.get(), kClaim),
      give_back_(callers_.get(), kGiveBack),
      begin_(callers_.get(), kBegin),
      take_all_(callers_.get(), kTakeAll) {
  // In a shared queue, handlers may run and call this before all pollers exist.
  const std::lock_guard lock(mutex_);
  const std::size_t pollers = handler_threads(config, traits);
  for (std::size_t i = 0; i < pollers; ++i) pollers_.emplace_back(*this);
} catch (const BackendError& error) {
  throw BackendUnavailable(error.what());
}

RedisPoller::~RedisPoller() {
  if (!stopped_) stop();
}

void RedisPoller::schedule(TimerId id, Tick deadline) {
  const Tick score = score_of(deadline);
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) throw ServiceStopped();
    throw_foreign();
    call(schedule_, callers_, REDIS_REPLY_INTEGER, RedisMember(id), fmt::to_string(score),
         fmt::format("{}:{:016x}", deadline, ++arming_));
  }
  if (options_.interval > 0) return;
  for (Poller& poller : pollers_) {
    if (instant_of(score) >= poller.asleep_until) continue;
    poller.asleep_until = 0;
    poller.worker.alarm().ring();
  }
}

bool RedisPoller::cancel(TimerId id) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return false;
  throw_foreign();
  return call(cancel_, callers_, REDIS_REPLY_INTEGER, RedisMember(id))->integer > 0;
}

std::vector<PendingTimer> RedisPoller::stop() {
  stopped_ = true;
  for (Poller& poller : pollers_) poller.worker.end();
  try {
    RedisConnection probe(endpoint_, RedisLink::kPatience);
  } catch (const BackendError&) {  // no answer will come, so no thread waits for one
    callers_.interrupt();
    for (Poller& poller : pollers_) poller.link.interrupt();
  }
  runs_.await_end();
  if (shared()) return {};
  const std::lock_guard lock(mutex_);
  try {
    return take_all();
  } catch (const BackendError&) {
    return {};
  }
}

std::size_t RedisPoller::size() const {
  const std::lock_guard lock(mutex_);
  return callers_.get().call(REDIS_REPLY_INTEGER, {"HLEN", payload_})->integer;
}

std::uint64_t RedisPoller::wakeups() const {
  std::uint64_t wakeups = 0;
  for (const Poller& poller : pollers_) wakeups += poller.worker.wakeups();
  return wakeups;
}

template <class... Words>
RedisPoller::Reply RedisPoller::call(const RedisScript& script, RedisLink& link, int type,
                                     const Words&... words) const {
  return script.call(link.get(), type, "4", waiting_, claimed_, payload_, begun_, words...);
}

void RedisPoller::poll(Poller& poller, Alarm& alarm, const std::stop_token& ending) {
  while (!ending.stop_requested()) {
    Tick wake;
    try {
      const Tick now = clock_.now();
      poller.asleep_until = kNever;  // it might not see what is scheduled while it looks
      const Reply reply = claim(poller, now);
      if (const redisReply& claimed = *reply->element[0]; claimed.elements > 0) {
        poller.asleep_until = 0;
        run(poller, claimed);
        continue;
      }
      const long long first = reply->element[1]->integer;
      if (options_.interval > 0) {
        wake = later(now, options_.interval);
      } else {
        wake = first < 0 ? kNever : instant_of(static_cast<Tick>(first));
        if (shared()) wake = std::min(wake, later(now, kLongestSharedSleep));
      }
    } catch (const BackendError&) {
      wake = later(clock_.now(), kPause);
    }
    poller.asleep_until = wake;
    alarm.wait_until(wake);
  }
  if (!shared()) return;
  try {
    give_back(poller);
  } catch (const BackendError&) {  // The lease will end.
  }
}

RedisPoller::Reply RedisPoller::claim(Poller& poller, Tick now) {
  if (!poller.lease.empty()) give_back(poller);
  poller.lease = fmt::to_string(due_score(std::min(later(now, options_.lease), kLastInstant)));
  Reply reply = call(claim_, poller.link, REDIS_REPLY_ARRAY, fmt::to_string(due_score(now)),
                     poller.lease, fmt::to_string(options_.batch));
  if (reply->element[0]->elements == 0) poller.lease.clear();
  return reply;
}

// The timers that it has claimed and cannot begin, because of an error or the end of the service.
void RedisPoller::give_back(Poller& poller) {
  constexpr const char* kNoLease = "-1";
  const Poller::Begin last = poller.last;  // no other thread changes it
  call(give_back_, poller.link, REDIS_REPLY_INTEGER, poller.lease.empty() ? kNoLease : poller.lease,
       fmt::to_string(due_score(clock_.now())), last.member, last.payload, poller.name,
       last.answered ? "1" : "0");
  poller.set_last({});
  poller.lease.clear();
}

void RedisPoller::run(Poller& poller, const redisReply& claimed) {
  for (std::size_t i = 0; i < claimed.elements; ++i) {
    if (stopped_) return;
    const std::string_view member = text(*claimed.element[i]->element[0]);
    const std::string_view payload = text(*claimed.element[i]->element[1]);
    if (const auto timer = this->timer(member, payload)) {
      if (begin(poller, member, payload)) runs_.run(*timer);
    } else {
      const std::lock_guard lock(mutex_);
      foreign_ = poller.link.get().error(
          fmt::format("{} holds \"{}\" with the payload \"{}\", which is no timer of this queue",
                      claimed_, member, payload),
          "keep other programs off this key");
    }
  }
  poller.lease.clear();
}

// Whether the timer should run. If so, its run is announced.
bool RedisPoller::begin(Poller& poller, std::string_view member, std::string_view payload) {
  runs_.begin();
  try {
    if (!stopped_) {
      const Poller::Begin before = poller.last;
      Poller::Begin now{std::string(member), std::string(payload), /*answered=*/false};
      poller.set_last(now);
      const Reply begun = call(begin_, poller.link, REDIS_REPLY_INTEGER, member, payload,
                               poller.lease, poller.name, before.member, before.payload);
      now.answered = true;
      poller.set_last(begun->integer > 0 ? now : before);
      if (begun->integer > 0) return true;
    }
  } catch (...) {
    runs_.end();
    throw;
  }
  runs_.end();
  return false;
}

// std::nullopt if another program has put it there.
std::optional<PendingTimer> RedisPoller::timer(std::string_view member,
                                               std::string_view payload) const {
  const auto id = RedisMember::parse(member);
  Tick deadline = 0;
  const char* const end_of_payload = payload.data() + payload.size();
  const auto [end, error] = std::from_chars(payload.data(), end_of_payload, deadline);
  if (!id || *id >= capacity_ || error != std::errc{} || end == end_of_payload || *end != ':') {
    return std::nullopt;
  }
  return PendingTimer{*id, deadline};
}

// REQUIRES: mutex_ is held.
void RedisPoller::throw_foreign() {
  if (foreign_) throw BackendError(*std::exchange(foreign_, std::nullopt));
}

// REQUIRES: mutex_ is held.
std::vector<PendingTimer> RedisPoller::take_all() {
  const Reply reply = call(take_all_, callers_, REDIS_REPLY_ARRAY);
  std::vector<PendingTimer> timers;
  const auto add = [&](const redisReply& member, std::string_view payload) {
    if (const auto timer = this->timer(text(member), payload)) timers.push_back(*timer);
  };
  const auto for_each_pair = [](const redisReply& hash, auto visit) {
    for (std::size_t i = 0; i + 1 < hash.elements; i += 2)
      visit(*hash.element[i], *hash.element[i + 1]);
  };
  for_each_pair(*reply->element[0], [&](const redisReply& member, const redisReply& payload) {
    add(member, text(payload));
  });
  // A timer that has begun, but whose answer was lost, has not run.
  for_each_pair(*reply->element[1], [&](const redisReply& member, const redisReply& begun) {
    for (Poller& poller : pollers_) {
      const std::lock_guard lock(poller.mutex);
      const Poller::Begin& last = poller.last;
      if (!last.answered && last.payload + poller.name == text(begun)) add(member, last.payload);
    }
  });
  return timers;
}

}  // namespace timerbench
