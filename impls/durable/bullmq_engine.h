// The Redis server of BullMQ's queues.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "durable/bullmq_queue.h"
#include "durable/engine.h"
#include "durable/redis_engine.h"

namespace timerbench {

class BullmqEngine final : public RedisEngine {
 public:
  // As BullMQ's documentation advises for production.
  BullmqEngine()
      : RedisEngine({"--save", "", "--appendonly", "yes", "--appendfsync", "everysec",
                     "--maxmemory-policy", "noeviction"}) {}

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    return std::make_unique<BullmqQueue>(server_->socket(), server_->folder() / "bridges.log",
                                         config);
  }
};

inline DurableContender bullmq(std::string_view name, std::string_view summary) {
  return {.traits = {.name = name,
                     .summary = summary,
                     .engine = "redis-server",
                     .promise = {.when_killed = Kept::but_the_latest,
                                 .when_power_fails = Kept::but_the_latest,
                                 .when_disk_fails = Kept::none},
                     .shared_by = SharedBy::machines,
                     .resolution = BullmqQueue::kResolution,
                     .takes_from_holders = false,
                     .own_clock = true,
                     .poll_interval = BullmqQueue::kPollInterval,
                     .file = BullmqQueue::kFile},
          .start = [](const std::filesystem::path&) { return std::make_unique<BullmqEngine>(); }};
}

}  // namespace timerbench
