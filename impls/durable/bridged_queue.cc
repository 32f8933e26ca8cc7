#include "durable/bridged_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>
#include <utility>

namespace timerbench {
namespace {

using nlohmann::json;

constexpr std::size_t kBytesTogether = 1 << 20;  // of payload in a request

std::uint64_t number_of(const json& text) {
  const auto& digits = text.get_ref<const std::string&>();
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

json to_json(std::span<const ClaimedTimer> claims) {
  json all = json::array();
  for (const ClaimedTimer& claim : claims) {
    all.push_back({fmt::to_string(claim.timer.id), fmt::to_string(claim.token)});
  }
  return all;
}

}  // namespace

BridgedQueue::BridgedQueue(Bridge::Program program, std::size_t together)
    : program_(std::move(program)), together_(together) {
  try {
    bridge();
  } catch (const BackendError& error) {
    throw BackendUnavailable(error.what());
  }
}

Bridge& BridgedQueue::bridge() {
  if (!bridge_ || !bridge_->usable()) {
    bridge_ = std::make_unique<Bridge>(program_);
    bridge_->ask({{"call", "ready"}});
  }
  return *bridge_;
}

void BridgedQueue::schedule(std::span<const DurableTimer> timers) {
  for (std::size_t i = 0; i < timers.size();) {
    json some = json::array();
    for (std::size_t bytes = 0; i < timers.size() && some.size() < together_; ++i) {
      const auto& [id, deadline, payload] = timers[i];
      bytes += payload.size();
      if (bytes > kBytesTogether) break;
      some.push_back({fmt::to_string(id), fmt::to_string(deadline), Bridge::to_text(payload)});
    }
    bridge().ask({{"call", "schedule"}, {"timers", std::move(some)}});
  }
}

bool BridgedQueue::cancel(DurableId id) {
  return bridge().ask({{"call", "cancel"}, {"id", fmt::to_string(id)}}).at("done").get<bool>();
}

Claims BridgedQueue::claim(std::size_t most, Tick lease) {
  const std::uint64_t token = tokens_.next();
  const json answer = bridge().ask({{"call", "claim"},
                                    {"most", most},
                                    {"lease", fmt::to_string(lease)},
                                    {"token", fmt::to_string(token)}});
  Claims claims;
  for (const json& one : answer.at("timers")) {
    claims.timers.push_back(
        {.timer = {.id = number_of(one.at(0)),
                   .deadline = number_of(one.at(1)),
                   .payload = Bridge::to_bytes(one.at(2).get_ref<const std::string&>())},
         .token = token});
  }
  if (const auto next = answer.find("next"); next != answer.end() && next->is_string()) {
    claims.next_wakeup = number_of(*next);
  }
  return claims;
}

std::vector<bool> BridgedQueue::complete(std::span<const ClaimedTimer> claims) {
  return bridge()
      .ask({{"call", "complete"}, {"claims", to_json(claims)}})
      .at("held")
      .get<std::vector<bool>>();
}

void BridgedQueue::give_back(std::span<const ClaimedTimer> claims) {
  bridge().ask({{"call", "giveBack"}, {"claims", to_json(claims)}});
}

bool BridgedQueue::await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + longest;
  for (;;) {
    const json answer = bridge().ask({{"call", "first"}});
    if (const json& first = answer.at("first"); first.is_string()) {
      const Tick due = number_of(first);
      if (due < next_wakeup || due <= unix_now()) return true;
    }
    const std::chrono::nanoseconds left = end - Clock::now();
    if (left.count() <= 0) return false;
    std::this_thread::sleep_for(std::min(left, std::chrono::nanoseconds(kPollInterval)));
  }
}

std::size_t BridgedQueue::size() {
  return bridge().ask({{"call", "size"}}).at("size").get<std::size_t>();
}

}  // namespace timerbench
