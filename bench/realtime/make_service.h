// Makes a ServiceBackend from a TimerService. Every service's code is instantiated here.
#pragma once

#include <memory>
#include <vector>

#include "realtime/service.h"

namespace timerbench {

template <TimerService Service>
class ErasedService final : public AnyService {
 public:
  explicit ErasedService(const ServiceConfig& config) : service_(config) {}

  void schedule(TimerId id, Tick deadline) override { service_.schedule(id, deadline); }
  bool cancel(TimerId id) override { return service_.cancel(id); }
  std::vector<PendingTimer> stop() override { return service_.stop(); }
  std::size_t size() const override { return service_.size(); }
  std::uint64_t failures() const override { return service_.failures(); }
  std::uint64_t wakeups() const override { return service_.wakeups(); }

 private:
  Service service_;
};

template <TimerService Service>
ServiceBackend make_service_backend() {
  return {.traits = Service::traits,
          .make = [](const ServiceConfig& config) -> std::unique_ptr<AnyService> {
            return std::make_unique<ErasedService<Service>>(config);
          }};
}

template <TimerService... Services>
void add_services(std::vector<ServiceBackend>& all) {
  (all.push_back(make_service_backend<Services>()), ...);
}

}  // namespace timerbench
