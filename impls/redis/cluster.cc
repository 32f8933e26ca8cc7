#include "redis/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <charconv>
#include <exception>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "redis/link.h"

namespace timerbench {
namespace {

constexpr std::chrono::milliseconds kClusterPause{10};
// A busy node answers within it. A repetition with less time could end with a lost answer, and then
// nobody knows what was done; after a refusal it is known that nothing was.
constexpr std::chrono::milliseconds kForAnAnswer{200};

// One for a map that was old, one for a slot on its way, and as many for what happens meanwhile.
constexpr int kMostRedirections = 4;

// Whether the node has not carried out the command, and it or another will soon.
bool is_refusal(std::string_view code) {
  constexpr std::string_view kCodes[] = {"MOVED",       "ASK",     "TRYAGAIN",
                                         "CLUSTERDOWN", "LOADING", "MASTERDOWN"};
  return std::ranges::find(kCodes, code) != std::end(kCodes);
}

std::string_view text_of(const redisReply& reply) {
  return reply.type == REDIS_REPLY_STRING ? std::string_view(reply.str, reply.len)
                                          : std::string_view();
}

// While it lives, the connection asks.
class Asking {
 public:
  Asking(RedisConnection& connection, bool asking) : connection_(connection) {
    connection_.set_asking(asking);
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() { connection_.set_asking(false); }

 private:
  RedisConnection& connection_;
};

}  // namespace

std::size_t redis_slot(std::string_view key) {
  if (const auto open = key.find('{'); open != key.npos) {
    const auto close = key.find('}', open + 1);
    if (close != key.npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  boost::crc_optimal<16, 0x1021, 0, 0, false, false> crc;  // XMODEM
  crc.process_bytes(key.data(), key.size());
  return crc.checksum() % kRedisSlots;
}

RedisCluster::RedisCluster(const std::vector<RedisEndpoint>& seeds,
                           std::chrono::milliseconds patience) try
    : login_(seeds.at(0)) {
  for (const RedisEndpoint& seed : seeds) nodes_.try_emplace(seed.url(), Node{.endpoint = seed});
  draw_map({.give_up = std::chrono::steady_clock::now() + patience});
} catch (const BackendError& error) {
  throw BackendUnavailable(error.what());
}

RedisCluster::RedisCluster(const RedisCluster& other) : RedisRouter(), login_(other.login_) {
  std::map<const Node*, Node*> own{{nullptr, nullptr}};
  for (const auto& [url, node] : other.nodes_) {
    own[&node] = &nodes_.try_emplace(url, Node{.endpoint = node.endpoint}).first->second;
  }
  std::ranges::transform(other.masters_, masters_.begin(),
                         [&](Node* node) { return own.at(node); });
}

void RedisCluster::with(std::string_view key, const Limits& limits, const Use& use) {
  const std::size_t slot = redis_slot(key);
  Target target{masters_[slot], false};
  for (int redirections = 0;;) {
    Target next{nullptr, false};
    std::string why =
        fmt::format("redis cluster at {}: no node has slot {}; give it to one", login_.url(), slot);
    try {
      if (target.node != nullptr) {
        RedisConnection& connection = connect(*target.node, limits.left());
        connection.set_patience(limits.left());
        const Asking asking(connection, target.asking);
        use(connection);
        return;
      }
    } catch (const RedisReplyError& error) {
      if (!is_refusal(error.code())) throw;
      why = error.what();
      next = redirected(error, *target.node);
    } catch (const BackendUnavailable& error) {
      why = error.what();
    }
    try {
      if (next.node == nullptr) {
        draw_map(limits);
        next.node = masters_[slot];
      } else if (!next.asking) {
        draw_map(*next.node, limits);
      }
    } catch (const BackendError&) {  // the reason is that of the call
    }
    const bool is_news =
        next.node != nullptr && next != target && ++redirections <= kMostRedirections;
    if (!is_news) {
      if (!limits.await_recovery || limits.left() <= kClusterPause + kForAnAnswer) {
        throw BackendUnavailable(why);
      }
      std::this_thread::sleep_for(kClusterPause);
    }
    target = next;
  }
}

void RedisCluster::with_each_master(std::chrono::milliseconds patience, const Use& use) {
  draw_map({.give_up = std::chrono::steady_clock::now() + patience});
  std::set<Node*> masters(masters_.begin(), masters_.end());
  masters.erase(nullptr);
  std::exception_ptr failure;
  for (Node* const master : masters) {
    try {
      RedisConnection& connection = connect(*master, patience);
      connection.set_patience(patience);
      use(connection);
    } catch (const BackendError&) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

RedisCluster::Node& RedisCluster::node_at(std::string_view host, int port) {
  RedisEndpoint endpoint = login_;
  endpoint.path.clear();
  endpoint.host = host;
  endpoint.port = port;
  std::string url = endpoint.url();
  return nodes_.try_emplace(std::move(url), Node{.endpoint = std::move(endpoint)}).first->second;
}

RedisConnection& RedisCluster::connect(Node& node, std::chrono::milliseconds patience) {
  if (!node.connection || !node.connection->usable()) {
    node.connection.reset();
    node.connection =
        std::make_unique<RedisConnection>(node.endpoint, std::min(RedisLink::kPatience, patience));
  }
  return *node.connection;
}

// "MOVED 3999 127.0.0.1:6381"; without a host it is that of the node that says so.
RedisCluster::Target RedisCluster::redirected(const RedisReplyError& error, const Node& from) {
  const std::string_view reply = error.reply();
  if (!reply.starts_with("MOVED ") && !reply.starts_with("ASK ")) return {nullptr, false};
  const std::string_view address = reply.substr(reply.rfind(' ') + 1);
  const auto colon = address.rfind(':');
  int port = 0;
  if (colon == address.npos ||
      std::from_chars(address.data() + colon + 1, address.data() + address.size(), port).ec !=
          std::errc{}) {
    return {nullptr, false};
  }
  const std::string_view host = colon == 0 ? from.endpoint.host : address.substr(0, colon);
  return {&node_at(host, port), reply.starts_with("ASK ")};
}

// Of each range of slots the reply has the first, the last, the master and its replicas; of each of
// these nodes the host, the port, and more. A host that it does not know is that of the node itself.
void RedisCluster::draw_map(Node& by, const Limits& limits) {
  // What is awaited of this node would be taken for the map.
  if (by.connection && by.connection->is_asked()) by.connection.reset();
  RedisConnection& connection = connect(by, limits.left());
  connection.set_patience(std::min(RedisLink::kPatience, limits.left()));
  const auto reply = connection.call(REDIS_REPLY_ARRAY, {"CLUSTER", "SLOTS"});
  std::array<Node*, kRedisSlots> masters{};
  for (std::size_t i = 0; i < reply->elements; ++i) {
    const redisReply& range = *reply->element[i];
    const auto number = [](const redisReply& part) {
      return part.type == REDIS_REPLY_INTEGER ? part.integer : -1;
    };
    const long long first = range.elements < 3 ? -1 : number(*range.element[0]);
    const long long last = range.elements < 3 ? -1 : number(*range.element[1]);
    if (first < 0 || last < first || last >= static_cast<long long>(kRedisSlots)) {
      throw connection.error("an answer of an unexpected kind", "check that it is a Redis cluster");
    }
    for (std::size_t j = 2; j < range.elements; ++j) {
      const redisReply& node = *range.element[j];
      if (node.elements < 2) continue;
      const std::string_view known = text_of(*node.element[0]);
      const long long port = number(*node.element[1]);
      if (known == "?" || port < 1 || port > 65535) continue;
      Node& there = node_at(known.empty() ? by.endpoint.host : known, static_cast<int>(port));
      if (j == 2) std::fill(&masters[first], &masters[last] + 1, &there);
    }
  }
  masters_ = masters;
}

void RedisCluster::draw_map(const Limits& limits) {
  std::vector<Node*> nodes;
  for (auto& [url, node] : nodes_) nodes.push_back(&node);
  const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(asked_++ % nodes.size());
  std::rotate(nodes.begin(), first, nodes.end());
  std::optional<BackendError> failure;
  for (Node* const node : nodes) {
    try {
      return draw_map(*node, limits);
    } catch (const BackendError& error) {
      failure = error;
    }
    if (std::chrono::steady_clock::now() >= limits.give_up) break;
  }
  throw *failure;
}

}  // namespace timerbench
