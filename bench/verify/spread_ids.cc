#include "verify/spread_ids.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace timerbench {
namespace {

constexpr TimerId kReach = 70'000;
constexpr TimerId kUnknown = ~TimerId{0};

// Pairs of ids, each so far from the next.
class Spread {
 public:
  explicit Spread(TimerId capacity) {
    const TimerId gaps = std::max(TimerId{1}, (capacity + 1) / 2 - 1);
    const TimerId widest = std::max(TimerId{2}, (kReach - 2) / gaps);
    distance_ = widest - (widest - 2) % 8;
  }

  TimerId spread(TimerId id) const { return id / 2 * distance_ + id % 2; }
  TimerId original(TimerId id) const {
    return id % distance_ < 2 ? id / distance_ * 2 + id % distance_ : kUnknown;
  }

 private:
  TimerId distance_;
};

class SpreadService final : public AnyService {
 public:
  SpreadService(const ServiceBackend& backend, ServiceConfig config) : ids_(config.capacity) {
    config.capacity = std::max(config.capacity, kReach);
    config.handler = [ids = ids_, handler = std::move(config.handler)](TimerId id, Tick deadline) {
      handler(ids.original(id), deadline);
    };
    service_ = backend.make(config);
  }

  void schedule(TimerId id, Tick deadline) override {
    service_->schedule(ids_.spread(id), deadline);
  }
  bool cancel(TimerId id) override { return service_->cancel(ids_.spread(id)); }

  std::vector<PendingTimer> stop() override {
    std::vector<PendingTimer> pending = service_->stop();
    for (PendingTimer& timer : pending) timer.id = ids_.original(timer.id);
    return pending;
  }

  std::size_t size() const override { return service_->size(); }
  std::uint64_t failures() const override { return service_->failures(); }
  std::uint64_t wakeups() const override { return service_->wakeups(); }

 private:
  const Spread ids_;
  std::unique_ptr<AnyService> service_;
};

}  // namespace

ServiceBackend with_spread_ids(const ServiceBackend& backend) {
  return {.traits = backend.traits, .make = [backend](const ServiceConfig& config) {
            return std::make_unique<SpreadService>(backend, config);
          }};
}

}  // namespace timerbench
