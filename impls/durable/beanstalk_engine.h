// A private beanstalkd, or the user's.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "durable/beanstalk_queue.h"
#include "durable/beanstalk_server.h"
#include "durable/engine.h"
#include "durable/server_engine.h"
#include "durable/tokens.h"
#include "engines/clean_up.h"
#include "engines/users_url.h"

namespace timerbench {

// On a server of the user's, its tubes have names that no other engine has, and are emptied when it
// ends.
class BeanstalkEngine final : public ServerEngine<PrivateBeanstalkServer> {
 public:
  explicit BeanstalkEngine(int fsync_ms) {
    if (const char* url = users_url(kBeanstalkUrlVariable)) {
      endpoint_ = BeanstalkEndpoint::parse(url);
      prefix_ += fmt::format("{:x}.", Tokens().next());
    } else {
      server_.emplace(fsync_ms);
      endpoint_ = server_->endpoint();
    }
  }
  ~BeanstalkEngine() override {
    if (server_) return;
    clean_up_.run(
        [&] { BeanstalkQueue::delete_tubes(endpoint_, prefix_, DurableConfig().patience); },
        fmt::format("jobs in its tubes {}*", prefix_),
        "repeat for each tube: use TUBE, peek-ready or peek-delayed, delete ID");
  }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    return std::make_unique<BeanstalkQueue>(endpoint_, prefix_ + config.queue, config);
  }

  const CleanUp clean_up_{};
  BeanstalkEndpoint endpoint_;
  std::string prefix_ = "timerbench.durable.";
};

inline DurableContender beanstalk(std::string_view name, std::string_view summary,
                                  Kept when_power_fails, int fsync_ms) {
  constexpr Tick kMs = 1'000'000;
  return {.traits = {.name = name,
                     .summary = summary,
                     .engine = "beanstalkd",
                     .promise = {.when_killed = Kept::all,
                                 .when_power_fails = when_power_fails,
                                 .when_disk_fails = Kept::none,
                                 .latest = static_cast<Tick>(fsync_ms) * kMs},
                     .shared_by = SharedBy::machines,
                     .resolution = BeanstalkQueue::kResolution,
                     .takes_from_holders = false,
                     .only_own_timers = true,
                     .silence_keeps_leases = true,
                     .lease_when_armed = true,
                     .own_clock = true,
                     .file = BeanstalkQueue::kFile},
          .start =
              [fsync_ms](const std::filesystem::path&) {
                return std::make_unique<BeanstalkEngine>(fsync_ms);
              },
          .users_variable = kBeanstalkUrlVariable};
}

}  // namespace timerbench
