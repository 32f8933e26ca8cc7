// A service that scenarios call, and what they require of its answers, whichever its clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "realtime/service.h"
#include "verify/service_requirements.h"

namespace timerbench {

class ServiceUnderTest {
 public:
  explicit ServiceUnderTest(std::unique_ptr<AnyService> service) : service_(std::move(service)) {}

  AnyService* operator->() { return service_.get(); }
  void destroy_service() { service_.reset(); }

  void require_size(std::size_t wanted) {
    const std::size_t size = service_->size();
    require(size == wanted, 6, "size() is {}, but {} timers are pending", size, wanted);
  }

  void require_cancel(TimerId id, bool wanted, std::string_view because) {
    const bool cancelled = service_->cancel(id);
    require(cancelled == wanted, 2, "cancel({}) returned {}, but the timer {}", id, cancelled,
            because);
  }

  void require_stopped() {
    bool refused = false;
    try {
      service_->schedule(5, 0);
    } catch (const ServiceStopped&) {
      refused = true;
    }
    require(refused, 5, "schedule() does not throw ServiceStopped");
  }

  // The timers that stop() returns, by id.
  Fires stop() {
    Fires pending = service_->stop();
    std::ranges::sort(pending, {}, &PendingTimer::id);
    return pending;
  }

 private:
  std::unique_ptr<AnyService> service_;
};

}  // namespace timerbench
