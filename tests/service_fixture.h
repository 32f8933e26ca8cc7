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

constexpr Tick kMillisecond = 1'000'000;
constexpr Tick kHour = 3'600'000 * kMillisecond;

using Fires = std::vector<PendingTimer>;

// One thread runs the handlers, wherever that can be chosen, so that their order can be told.
template <class Service>
ServiceConfig with_one_thread(ServiceConfig config) {
  if (Service::traits.threads > 1) config.threads = 1;
  return config;
}

// A service under a clock that the test sets, and what it has fired.
template <class Service>
class ServiceTest : public testing::Test {
 protected:
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
  Service service_{with_one_thread<Service>(
      {.capacity = 16, .clock = clock_, .handler = [this](TimerId id, Tick deadline) {
         {
           const std::lock_guard lock(mutex_);
           fires_.push_back({id, deadline});
         }
         on_fire_(id);
       }})};
};

}  // namespace timerbench
