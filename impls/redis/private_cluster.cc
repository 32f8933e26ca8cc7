#include "redis/private_cluster.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "redis/cluster.h"
#include "redis/slot_move.h"

namespace timerbench {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr std::chrono::seconds kClusterPatience{20};
constexpr std::chrono::milliseconds kBetweenLooks{20};
// Each node has an address of its own, so that a network can tell them apart.
constexpr std::size_t kFirstAddress = 11;  // 127.0.0.11
// Of silence, after which the others take a node for dead.
constexpr std::string_view kNodeTimeout = "500";

std::string text_in(const RedisConnection::Reply& reply) { return {reply->str, reply->len}; }

}  // namespace

PrivateRedisCluster::PrivateRedisCluster(std::size_t masters) : masters_(masters) {
  if (masters < 1 || masters > kMostMasters) {
    throw BackendError(
        fmt::format("there cannot be {} masters; take 1 to {}", masters, kMostMasters));
  }
  const std::string password = random_password();
  for (std::size_t i = 0; i < nodes(); ++i) {
    const std::string host = fmt::format("127.0.0.{}", kFirstAddress + i);
    endpoints_.push_back(endpoint_at(ports_.emplace_back(host), password));
    bus_ports_.emplace_back(host);
    PrivateRedisServer::Settings settings = PrivateRedisServer::kReplicates;
    settings.insert(
        settings.end(),
        {"--cluster-enabled", "yes", "--cluster-port", std::to_string(bus_ports_[i].number()),
         // Else the others take the address that they see, which may be another.
         "--cluster-announce-ip", endpoints_[i].host, "--cluster-node-timeout",
         std::string(kNodeTimeout),
         // The nodes know of a replica once it has had a byte, if only a ping.
         "--repl-ping-replica-period", "1",
         // The others go on while a master is down.
         "--cluster-require-full-coverage", "no",
         // A replica takes over however long it has not heard of its master.
         "--cluster-replica-validity-factor", "0"});
    nodes_.push_back(std::make_unique<PrivateRedisServer>(endpoints_[i], std::move(settings)));
  }
  introduce();
  mend();
}

void PrivateRedisCluster::introduce() {
  RedisConnection first(endpoints_[0]);
  for (std::size_t i = 0; i < nodes(); ++i) {
    RedisConnection connection(endpoints_[i]);
    // Different from the beginning, so that they need not find out that they are equal.
    connection.call(REDIS_REPLY_STATUS, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    if (i < masters_) {
      connection.call(REDIS_REPLY_STATUS,
                      {"CLUSTER", "ADDSLOTSRANGE", std::to_string(i * kRedisSlots / masters_),
                       std::to_string((i + 1) * kRedisSlots / masters_ - 1)});
    }
    if (i == 0) continue;
    first.call(REDIS_REPLY_STATUS,
               {"CLUSTER", "MEET", endpoints_[i].host, std::to_string(endpoints_[i].port),
                std::to_string(bus_ports_[i].number())});
  }
  for (std::size_t i = masters_; i < nodes(); ++i) {
    const std::string master = [&] {
      RedisConnection connection(endpoints_[i - masters_]);
      return redis_node_id(connection);
    }();
    RedisConnection replica(endpoints_[i]);
    await("its nodes do not meet", [&] {
      try {
        replica.call(REDIS_REPLY_STATUS, {"CLUSTER", "REPLICATE", master});
        return true;
      } catch (const RedisReplyError&) {  // it does not know the master yet
        return false;
      }
    });
  }
}

std::vector<pid_t> PrivateRedisCluster::processes() {
  std::vector<pid_t> processes;
  for (const auto& node : nodes_) processes.push_back(node->process());
  return processes;
}

std::vector<RedisEndpoint> PrivateRedisCluster::masters() {
  std::vector<RedisEndpoint> masters;
  for (std::size_t i = 0; i < nodes(); ++i) {
    if (is_master(i)) masters.push_back(endpoints_[i]);
  }
  return masters;
}

std::chrono::milliseconds PrivateRedisCluster::kill_master() {
  const auto running_masters = [this] {
    std::size_t count = 0;
    for (std::size_t i = 0; i < nodes(); ++i) count += nodes_[i]->running() && is_master(i) ? 1 : 0;
    return count;
  };
  for (std::size_t looked_at = 0; !nodes_[next_victim_]->running() || !is_master(next_victim_);) {
    if (++looked_at == nodes()) {
      throw BackendUnavailable("redis cluster: no node that runs is a master; see their logs");
    }
    next_victim_ = (next_victim_ + 1) % nodes();
  }
  const auto start = SteadyTime::now();
  nodes_[next_victim_]->kill();
  await("it does not replace a dead master", [&] { return running_masters() == masters_; });
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(SteadyTime::now() - start);
  next_victim_ = (next_victim_ + 1) % nodes();
  return took;
}

void PrivateRedisCluster::mend() {
  for (auto& node : nodes_) {
    if (!node->running()) node->restart();
  }
  await("its nodes do not agree", [&] {
    const std::string view = view_of(0);
    bool is_agreed = !view.empty();
    for (std::size_t i = 1; i < nodes() && is_agreed; ++i) is_agreed = view_of(i) == view;
    return is_agreed;
  });
  for (std::size_t i = 0; i < nodes(); ++i) {
    if (is_master(i)) await_redis_replica(endpoints_[i]);
  }
}

void PrivateRedisCluster::move_slots() {
  const std::vector<RedisEndpoint> masters = this->masters();
  // First of all masters: else a slot could be met again where it was moved to.
  std::vector<std::set<int>> slots;
  for (const RedisEndpoint& master : masters) {
    RedisConnection connection(master);
    const auto keys = connection.call(REDIS_REPLY_ARRAY, {"KEYS", "*"});
    slots.emplace_back();
    for (std::size_t i = 0; i < keys->elements; ++i) {
      const redisReply& key = *keys->element[i];
      slots.back().insert(static_cast<int>(redis_slot({key.str, key.len})));
    }
  }
  for (std::size_t i = 0; i < masters.size(); ++i) {
    for (const int slot : slots[i]) {
      SlotMove(slot, masters[i], masters[(i + 1) % masters.size()]).finish();
    }
  }
}

bool PrivateRedisCluster::is_master(std::size_t node) {
  return RedisConnection(endpoints_[node]).is_to_master();
}

std::string PrivateRedisCluster::view_of(std::size_t node) {
  RedisConnection connection(endpoints_[node]);
  const std::string info = text_in(connection.call(REDIS_REPLY_STRING, {"CLUSTER", "INFO"}));
  if (info.find("cluster_state:ok") == info.npos) return "";
  const auto ranges = connection.call(REDIS_REPLY_ARRAY, {"CLUSTER", "SLOTS"});
  std::string view;
  long long slots = 0;
  for (std::size_t i = 0; i < ranges->elements; ++i) {
    const redisReply& range = *ranges->element[i];
    if (range.elements < 4) return "";  // it has no replica
    const long long first = range.element[0]->integer, last = range.element[1]->integer;
    view += fmt::format("{}-{} {}\n", first, last, range.element[2]->element[2]->str);
    slots += last - first + 1;
  }
  return slots == static_cast<long long>(kRedisSlots) ? view : "";
}

template <class Condition>
void PrivateRedisCluster::await(std::string_view what, Condition&& condition) {
  const auto give_up = SteadyTime::now() + kClusterPatience;
  while (!condition()) {
    if (SteadyTime::now() >= give_up) {
      throw BackendUnavailable(
          fmt::format("redis cluster: {} within {} s; check that the machine is not busy", what,
                      kClusterPatience.count()));
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace timerbench
