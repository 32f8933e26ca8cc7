#include "redis/slot_move.h"

#include <string_view>

namespace timerbench {

std::string redis_node_id(RedisConnection& node) {
  const auto reply = node.call(REDIS_REPLY_STRING, {"CLUSTER", "MYID"});
  return {reply->str, reply->len};
}

SlotMove::SlotMove(int slot, const RedisEndpoint& source, const RedisEndpoint& target)
    : slot_(std::to_string(slot)), to_(target), source_(source), target_(target) {
  target_.call(REDIS_REPLY_STATUS,
               {"CLUSTER", "SETSLOT", slot_, "IMPORTING", redis_node_id(source_)});
  source_.call(REDIS_REPLY_STATUS,
               {"CLUSTER", "SETSLOT", slot_, "MIGRATING", redis_node_id(target_)});
}

void SlotMove::move(const std::vector<std::string>& keys) {
  constexpr std::string_view kPatienceMs = "5000";
  const std::string port = std::to_string(to_.port);
  std::vector<std::string_view> command{"MIGRATE",   to_.host, port,         "",    "0",
                                        kPatienceMs, "AUTH",   to_.password, "KEYS"};
  command.insert(command.end(), keys.begin(), keys.end());
  source_.call(REDIS_REPLY_STATUS, command);
}

void SlotMove::finish() {
  for (std::vector<std::string> keys = left(); !keys.empty(); keys = left()) move(keys);
  const std::string id = redis_node_id(target_);
  target_.call(REDIS_REPLY_STATUS, {"CLUSTER", "SETSLOT", slot_, "NODE", id});
  source_.call(REDIS_REPLY_STATUS, {"CLUSTER", "SETSLOT", slot_, "NODE", id});
}

std::vector<std::string> SlotMove::left() {
  const auto reply = source_.call(REDIS_REPLY_ARRAY, {"CLUSTER", "GETKEYSINSLOT", slot_, "100"});
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < reply->elements; ++i) keys.emplace_back(reply->element[i]->str);
  return keys;
}

}  // namespace timerbench
