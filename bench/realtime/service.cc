#include "realtime/service.h"

#include "services/roster.h"

namespace timerbench {
namespace {

template <TimerService Service>
class Erased final : public AnyService {
 public:
  explicit Erased(const ServiceConfig& config) : service_(config) {}

  void schedule(TimerId id, Tick deadline) override { service_.schedule(id, deadline); }
  bool cancel(TimerId id) override { return service_.cancel(id); }
  std::vector<PendingTimer> stop() override { return service_.stop(); }
  std::size_t size() const override { return service_.size(); }
  std::uint64_t failures() const override { return service_.failures(); }
  std::uint64_t wakeups() const override { return service_.wakeups(); }

 private:
  Service service_;
};

template <class... Services>
std::vector<ServiceBackend> make_all(TypeList<Services...>) {
  return {{.traits = Services::traits,
           .make = [](const ServiceConfig& config) -> std::unique_ptr<AnyService> {
             return std::make_unique<Erased<Services>>(config);
           }}...};
}

}  // namespace

std::span<const ServiceBackend> services() {
  static const std::vector<ServiceBackend> all = make_all(ServiceRoster{});
  return all;
}

}  // namespace timerbench
