#include "durable/bullmq_queue.h"

#include <utility>

namespace timerbench {
namespace {

constexpr std::size_t kTogether = 1000;

}  // namespace

BullmqQueue::BullmqQueue(const std::filesystem::path& socket, std::filesystem::path log,
                         const DurableConfig& config)
    : BridgedQueue(
          {.name = "the bridge to BullMQ",
           .advice = "run scripts/setup --durable, and build the preset durable again",
           .arguments = Bridge::node("bullmq_queue", {socket, config.queue, TIMERBENCH_BULLMQ}),
           .log = std::move(log),
           .to_answer = config.patience},
          kTogether) {}

}  // namespace timerbench
