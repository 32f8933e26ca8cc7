// What the Redis backends have in common: timers as the members of one sorted set (ZSET).
//
// Key     timerbench:PID:RANDOM:timers, a new one for every queue. No other key is touched. It is
//         deleted with the queue; a program that is killed leaves it on a user's server, and one
//         that cannot delete it there says so.
// Member  the id, as RedisMember writes it.
// Score   the deadline. A score is a double, exact up to 2^53; every later deadline has the score
//         2^53. The client knows each deadline: it sorts the timers taken at that score, fires
//         those that are due and puts the others back.
//
// Invariants, between calls:
//   1. deadlines_[id] is kNever exactly if id is not pending.
//   2. Once the server has carried out what was sent, the set has one member for each pending
//      timer, with the score min(deadline, 2^53), and no other.
//   3. No pending deadline is before next_wakeup(), which is kNever exactly if nothing is pending.
//
// Redis keeps a set of at most 128 members in a flat listpack and a larger one in a skip list
// beside a hash table: with fewer timers a different structure is measured.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/timer_queue.h"
#include "engines/clean_up.h"
#include "engines/users_url.h"
#include "redis/connection.h"
#include "redis/names.h"
#include "redis/server.h"

namespace timerbench {

class TimerZset {
 public:
  std::size_t size() const { return size_; }

  // From what the client has scheduled and the server last answered: no round trip.
  Tick next_wakeup() const { return next_wakeup_; }

  const std::string& key() const { return key_; }

 protected:
  using Reply = RedisConnection::Reply;

  // All deadlines from here on have the same score.
  static constexpr Tick kMaxScore = Tick{1} << 53;

  class Score {
   public:
    explicit Score(Tick deadline) : text_(std::min(deadline, kMaxScore)) {}
    operator std::string_view() const { return {text_.data(), text_.size()}; }

   private:
    fmt::format_int text_;
  };

  explicit TimerZset(const QueueConfig& config)
      : connection_(redis_endpoint()),
        key_(fmt::format("timerbench:{}:timers", unique_redis_name())),
        now_(config.start),
        deadlines_(config.capacity, kNever) {}

  ~TimerZset() {
    try {
      connection_.call(REDIS_REPLY_INTEGER, {"UNLINK", key_});
    } catch (const std::exception& error) {
      if (users_url(kRedisUrlVariable) == nullptr)
        return;  // a private server ends with the program
      CleanUp::tell(error, fmt::format("its key {}", key_),
                    fmt::format("run on the server: redis-cli unlink {}", key_));
    }
  }

  TimerZset(const TimerZset&) = delete;
  TimerZset& operator=(const TimerZset&) = delete;

  bool pending(TimerId id) const { return deadlines_[id] != kNever; }

  void arm(TimerId id, Tick deadline) {
    if (!pending(id)) ++size_;
    deadlines_[id] = deadline;
    next_wakeup_ = std::min(next_wakeup_, deadline);
  }

  // Returns its deadline. REQUIRES: pending(id).
  Tick disarm(TimerId id) {
    if (--size_ == 0) next_wakeup_ = kNever;
    return std::exchange(deadlines_[id], kNever);
  }

  // The timer of a member.
  TimerId timer(const redisReply& member) const {
    const std::string_view text(member.str, member.len);
    const auto id = RedisMember::parse(text);
    if (!id || *id >= deadlines_.size() || !pending(*id)) {
      throw connection_.error(
          fmt::format("{} holds \"{}\", which is no timer of this queue", key_, text),
          "keep other programs off this key");
    }
    return *id;
  }

  Tick score(const redisReply& score) const {
    const std::string_view text(score.str, score.len);
    double value = -1;  // newer servers also write 1e+15
    std::from_chars(text.data(), text.data() + text.size(), value);
    if (!(value >= 0 && value <= static_cast<double>(kMaxScore))) {
      throw connection_.error(
          fmt::format("{} holds the score \"{}\", which is no deadline", key_, text),
          "keep other programs off this key");
    }
    return static_cast<Tick>(value);
  }

  // Fires a timer that was taken from the server, or keeps it for finish(). Returns how many fired.
  template <class Sink>
  std::size_t fire(TimerId id, Sink& sink) {
    if (deadlines_[id] >= kMaxScore) {
      far_.push_back(id);
      return 0;
    }
    sink(id, disarm(id));
    return 1;
  }

  // Ends an advance(). Fires the kept timers that are due, in order, and calls put_back(id) for the
  // others. `head`: the score of the first timer left on the server, or kNever.
  template <class Sink, class PutBack>
  std::size_t finish(Tick head, Sink& sink, PutBack&& put_back) {
    if (head == kNever && size_ > far_.size()) {
      throw connection_.error(
          fmt::format("{} of the timers in {} are gone", size_ - far_.size(), key_),
          "flush no database in use and set maxmemory-policy to noeviction");
    }
    next_wakeup_ = head;
    std::ranges::sort(far_, {}, [this](TimerId id) { return std::pair(deadlines_[id], id); });
    std::size_t fired = 0;
    for (const TimerId id : far_) {
      if (deadlines_[id] <= now_) {
        sink(id, disarm(id));
        ++fired;
      } else {
        put_back(id);
        next_wakeup_ = std::min(next_wakeup_, deadlines_[id]);
      }
    }
    far_.clear();
    return fired;
  }

  RedisConnection connection_;
  std::string key_;
  Tick now_;
  std::vector<Tick> deadlines_;  // by id; kNever: not pending

 private:
  std::size_t size_ = 0;
  Tick next_wakeup_ = kNever;
  std::vector<TimerId> far_;  // taken at kMaxScore during an advance()
};

}  // namespace timerbench
