// The etcd of queues of leases.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "durable/engine.h"
#include "durable/etcd_queue.h"
#include "durable/etcd_server.h"
#include "durable/server_engine.h"

namespace timerbench {

class EtcdEngine final : public ServerEngine<PrivateEtcdServer> {
 public:
  EtcdEngine() { server_.emplace(); }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    return std::make_unique<EtcdQueue>(server_->socket(), server_->folder() / "bridges.log",
                                       config);
  }
};

inline DurableContender etcd(std::string_view name, std::string_view summary) {
  return {.traits = {.name = name,
                     .summary = summary,
                     .engine = "etcd-server",
                     .promise = {.when_killed = Kept::all,
                                 .when_power_fails = Kept::all,
                                 .when_disk_fails = Kept::none},
                     .shared_by = SharedBy::machines,
                     .resolution = EtcdQueue::kResolution,
                     .own_clock = true,
                     .poll_interval = EtcdQueue::kPollInterval,
                     .file = EtcdQueue::kFile},
          .start = [](const std::filesystem::path&) { return std::make_unique<EtcdEngine>(); }};
}

}  // namespace timerbench
