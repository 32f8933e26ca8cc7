#include "verify/durable_differential.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "verify/durable_contract.h"
#include "verify/service_requirements.h"

namespace timerbench {
namespace {

constexpr int kMostCalls = 60;

enum class Kind { schedule, post, cancel, claim, complete, give_back, wait };

struct Call {
  Kind kind;
  int client;
  DurableId id;        // of schedule, post and cancel
  Tick ms;             // the delay, the lease, or how long to wait
  std::size_t most;    // of claim, and the length of a payload
  std::uint32_t held;  // a bit for each claim so far, of complete and give_back
};

std::string to_text(const Call& call) {
  switch (call.kind) {
    case Kind::schedule:
    case Kind::post:
      return fmt::format("client {}: {}({}, in {} ms, {} bytes)", call.client,
                         call.kind == Kind::post ? "post" : "schedule", call.id, call.ms,
                         call.most);
    case Kind::cancel: return fmt::format("client {}: cancel({})", call.client, call.id);
    case Kind::claim:
      return fmt::format("client {}: claim({}, for {} ms)", call.client, call.most, call.ms);
    case Kind::complete:
      return fmt::format("client {}: complete(those of {:#b})", call.client, call.held);
    case Kind::give_back:
      return fmt::format("client {}: give_back(those of {:#b})", call.client, call.held);
    case Kind::wait: return fmt::format("{} ms pass", call.ms);
  }
  return "";
}

rc::Gen<Call> any_call() {
  return rc::gen::build<Call>(
      rc::gen::set(&Call::kind, rc::gen::element(Kind::schedule, Kind::post, Kind::cancel,
                                                 Kind::claim, Kind::claim, Kind::complete,
                                                 Kind::give_back, Kind::wait, Kind::wait)),
      rc::gen::set(&Call::client, rc::gen::inRange(0, 2)),
      rc::gen::set(&Call::id, rc::gen::inRange<DurableId>(0, 6)),
      rc::gen::set(&Call::ms, rc::gen::inRange<Tick>(0, 12)),
      rc::gen::set(&Call::most, rc::gen::inRange<std::size_t>(1, 5)),
      rc::gen::set(&Call::held, rc::gen::arbitrary<std::uint32_t>()));
}

struct Entry {
  DurableTimer timer;
  Tick due;
  std::optional<std::uint64_t> token{};  // of its holder
};

// A queue, what it must be, and all claims so far.
class Comparison {
 public:
  Comparison(DurableEngine& engine, const std::string& queue) {
    for (auto& client : clients_) {
      client = engine.open({.queue = queue, .now = [this] { return now_; }});
    }
  }

  void make(const Call& call) {
    DurableQueue& client = *clients_[static_cast<std::size_t>(call.client)];
    switch (call.kind) {
      case Kind::schedule:
      case Kind::post: {
        const DurableTimer timer{call.id, now_ + call.ms * kMillisecond,
                                 std::string(call.most, 'x')};
        call.kind == Kind::post ? client.post({&timer, 1}) : client.schedule({&timer, 1});
        entries_[call.id] = {timer, timer.deadline};
        break;
      }
      case Kind::cancel: {
        const bool was_there = client.cancel(call.id);
        require(was_there == (entries_.erase(call.id) > 0), 4, "cancel() returns {}", was_there);
        break;
      }
      case Kind::claim: claim(client, call.most, std::max(call.ms, Tick{1}) * kMillisecond); break;
      case Kind::complete: complete(client, some_claims(call.held)); break;
      case Kind::give_back: give_back(client, some_claims(call.held)); break;
      case Kind::wait: now_ += call.ms * kMillisecond;
    }
    // Of the same client, so other clients see what it has posted.
    const std::size_t size = client.size();
    require(size == entries_.size(), 1, "size() is {} instead of {}", size, entries_.size());
  }

 private:
  std::vector<ClaimedTimer> some_claims(std::uint32_t chosen) const {
    std::vector<ClaimedTimer> some;
    for (std::size_t i = 0; i < std::min<std::size_t>(claims_.size(), 32); ++i) {
      if ((chosen >> i & 1) != 0) some.push_back(claims_[claims_.size() - 1 - i]);
    }
    return some;
  }

  Entry* held_by(const ClaimedTimer& claim) {
    const auto found = entries_.find(claim.timer.id);
    return found != entries_.end() && found->second.token == claim.token ? &found->second : nullptr;
  }

  void claim(DurableQueue& client, std::size_t most, Tick lease) {
    std::size_t due = 0;
    Tick next = kNever;
    for (const auto& [id, entry] : entries_) {
      due += entry.due <= now_ ? 1 : 0;
      next = std::min(next, entry.due);
    }
    const Claims claims = client.claim(most, lease);
    require(claims.timers.size() == std::min(due, most), 2,
            "claim() hands out {} timers, and {} are due", claims.timers.size(), due);
    require(!claims.timers.empty() || claims.next_wakeup <= next, 2,
            "next_wakeup is {} ns too late", claims.next_wakeup - next);
    for (const ClaimedTimer& claim : claims.timers) {
      const auto found = entries_.find(claim.timer.id);
      require(found != entries_.end(), 2, "timer {} is handed out, but not there", claim.timer.id);
      Entry& entry = found->second;
      require(entry.timer == claim.timer, 1, "timer {} is handed out with {} for {} ns",
              claim.timer.id, claim.timer.payload, claim.timer.deadline);
      require(entry.due <= now_, 2, "timer {} is handed out {} ns early", claim.timer.id,
              entry.due - now_);
      entry.due = now_ + lease;
      entry.token = claim.token;
      claims_.push_back(claim);
    }
  }

  void complete(DurableQueue& client, const std::vector<ClaimedTimer>& claims) {
    const std::vector<bool> held = client.complete(claims);
    require(held.size() == claims.size(), 3, "complete() answers {} times to {} claims",
            held.size(), claims.size());
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const bool wanted = held_by(claims[i]) != nullptr;
      require(held[i] == wanted, 3, "complete() of timer {} returns {}", claims[i].timer.id,
              static_cast<bool>(held[i]));
      if (wanted) entries_.erase(claims[i].timer.id);
    }
  }

  void give_back(DurableQueue& client, const std::vector<ClaimedTimer>& claims) {
    client.give_back(claims);
    for (const ClaimedTimer& claim : claims) {
      Entry* const entry = held_by(claim);
      if (entry == nullptr) continue;
      entry->due = now_;
      entry->token.reset();
    }
  }

  Tick now_ = DurableScene::kStart;
  std::array<std::unique_ptr<DurableQueue>, 2> clients_;
  std::map<DurableId, Entry> entries_;
  std::vector<ClaimedTimer> claims_;
};

}  // namespace

std::string_view left_out_of_comparison(const DurableTraits& traits) {
  return traits.own_clock ? "they must set the clock" : "";
}

DurableComparison compare_with_model(DurableEngine& engine, const std::string& prefix,
                                     std::uint64_t seed, std::chrono::duration<double> seconds,
                                     const StopFlag& stop) {
  DurableComparison result;
  const auto run = [&](const std::vector<Call>& calls) -> std::optional<std::string> {
    Comparison comparison(engine, fmt::format("{}_{}", prefix, ++result.runs));
    for (const Call& call : calls) {
      try {
        comparison.make(call);
      } catch (const ContractViolation& violation) {
        return violation.what();
      }
      ++result.calls;
    }
    return std::nullopt;
  };
  const auto end = std::chrono::steady_clock::now() + seconds;
  rc::Random random(seed);
  do {
    auto calls = rc::gen::container<std::vector<Call>>(any_call())(random.split(), kMostCalls);
    auto what = run(calls.value());
    if (!what) continue;
    // Takes the first smaller run that still differs, again and again.
    for (bool is_smaller = true; is_smaller && !stop;) {
      is_smaller = false;
      auto smaller = calls.shrinks();
      while (auto candidate = smaller.next()) {
        auto still = run(candidate->value());
        if (!still) continue;
        calls = *candidate;
        what = still;
        is_smaller = true;
        break;
      }
    }
    std::string text;
    for (const Call& call : calls.value()) text += fmt::format("    {}\n", to_text(call));
    result.difference = {*what, text};
  } while (!result.difference && std::chrono::steady_clock::now() < end && !stop);
  return result;
}

}  // namespace timerbench
