#include "durable/bullmq_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace timerbench {
namespace {

using nlohmann::json;
using std::chrono_literals::operator""s;

constexpr std::size_t kTogether = 1000;          // timers in a request
constexpr std::size_t kBytesTogether = 1 << 20;  // of payload
constexpr const char* kLookEvery = "250";        // ms, for ended leases

// JSON of JavaScript has no integers beyond 2^53, so they travel as text.
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

BullmqQueue::BullmqQueue(Server server, const DurableConfig& config)
    : server_(std::move(server)), config_(config) {
  bridge();
}

Bridge& BullmqQueue::bridge() {
  if (bridge_ && bridge_->usable()) return *bridge_;
  bridge_ = std::make_unique<Bridge>(Bridge::Program{
      .name = "the bridge to BullMQ",
      .advice = "install it (scripts/setup --durable) and build the preset durable again",
      .arguments = {"node", TIMERBENCH_BULLMQ_BRIDGE, TIMERBENCH_BULLMQ_MODULES, server_.socket,
                    config_.queue, fmt::format("{:x}", tokens_.next()), kLookEvery},
      .log = server_.log,
      .to_start = std::max<std::chrono::milliseconds>(config_.patience, 15s),
      .to_answer = config_.patience});
  return *bridge_;
}

void BullmqQueue::schedule(std::span<const DurableTimer> timers) {
  for (std::size_t i = 0; i < timers.size();) {
    json some = json::array();
    for (std::size_t bytes = 0; i < timers.size() && some.size() < kTogether; ++i) {
      const auto& [id, deadline, payload] = timers[i];
      bytes += payload.size();
      if (bytes > kBytesTogether) break;
      some.push_back({fmt::to_string(id), fmt::to_string(deadline), Bridge::to_text(payload)});
    }
    bridge().ask({{"call", "schedule"}, {"timers", std::move(some)}});
  }
}

bool BullmqQueue::cancel(DurableId id) {
  return bridge().ask({{"call", "cancel"}, {"id", fmt::to_string(id)}}).at("done").get<bool>();
}

Claims BullmqQueue::claim(std::size_t most, Tick lease) {
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

std::vector<bool> BullmqQueue::complete(std::span<const ClaimedTimer> claims) {
  return bridge()
      .ask({{"call", "complete"}, {"claims", to_json(claims)}})
      .at("held")
      .get<std::vector<bool>>();
}

void BullmqQueue::give_back(std::span<const ClaimedTimer> claims) {
  bridge().ask({{"call", "giveBack"}, {"claims", to_json(claims)}});
}

std::size_t BullmqQueue::size() {
  return bridge().ask({{"call", "size"}}).at("size").get<std::size_t>();
}

}  // namespace timerbench
