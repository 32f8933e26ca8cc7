#include "durable/etcd_queue.h"

#include <utility>

namespace timerbench {
namespace {

constexpr std::size_t kTogether = 100;  // each needs a lease of its own, with a synchronisation

}  // namespace

EtcdQueue::EtcdQueue(const std::filesystem::path& socket, std::filesystem::path log,
                     const DurableConfig& config)
    : BridgedQueue({.name = "the bridge to etcd",
                    .advice = "run scripts/setup --durable",
                    .arguments = Bridge::node("etcd_queue", {socket, config.queue}),
                    .log = std::move(log),
                    .to_answer = config.patience},
                   kTogether) {}

}  // namespace timerbench
