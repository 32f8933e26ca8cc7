// A service under a clock that the test sets.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "services/clock.h"
#include "services/timer_service.h"

namespace timerbench {

using Fires = std::vector<PendingTimer>;

// What a service fires under a clock that the test sets.
class FiresTest : public testing::Test {
 protected:
  // One thread runs the handlers, wherever that can be chosen, so that their order can be told.
  ServiceConfig config(const ServiceTraits& traits) {
    ServiceConfig config{.capacity = 16, .clock = clock_, .handler = [this](TimerId id, Tick at) {
                           {
                             const std::lock_guard lock(mutex_);
                             fires_.push_back({id, at});
                           }
                           on_fire_(id);
                         }};
    if (traits.threads > 1) config.threads = 1;
    return config;
  }

  // The service's own view of time is that of the clock's granules.
  void advance_to(Tick instant) {
    for (Tick now = clock_.now(); now < instant;) {
      now = std::min(instant, now + kMillisecond);
      clock_.set(now);
      clock_.settle();
    }
  }

  // What has fired since the last call, in order of the ids.
  Fires fires() {
    clock_.settle();
    const std::lock_guard lock(mutex_);
    std::ranges::sort(fires_, {}, &PendingTimer::id);
    return std::exchange(fires_, {});
  }

  std::function<void(TimerId)> on_fire_ = [](TimerId) {};
  ManualClock clock_;
  std::mutex mutex_;
  Fires fires_;
};

template <class Service>
class ServiceTest : public FiresTest {
 protected:
  Service service_{config(Service::traits)};
};

}  // namespace timerbench
