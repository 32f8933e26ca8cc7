// A clock that the checker sets, and the fires of a service under it.
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "services/clock.h"
#include "services/timer_service.h"
#include "verify/service_requirements.h"

namespace timerbench {

class ManualScene {
 public:
  static constexpr TimerId kCapacity = 16;

  // One thread runs the handlers if that can be chosen, so that their order is defined.
  ServiceConfig config(const ServiceTraits& traits, TimerId capacity = kCapacity) {
    ServiceConfig config{
        .capacity = capacity, .clock = clock, .handler = [this](TimerId id, Tick at) {
          {
            const std::lock_guard lock(mutex_);
            fires_.push_back({id, at});
          }
          on_fire(id);
        }};
    if (traits.threads > 1) config.threads = 1;
    return config;
  }

  // Moves the clock in steps of a granule, so that the service sees each.
  void advance_to(Tick instant) {
    for (Tick now = clock.now(); now < instant;) {
      now = std::min(instant, now + kMillisecond);
      clock.set(now);
      clock.settle();
    }
  }

  // The fires since the last call, by id, after all threads have settled.
  Fires fires() {
    clock.settle();
    return fires_so_far();
  }

  // The same, without waiting.
  Fires fires_so_far() {
    const std::lock_guard lock(mutex_);
    std::ranges::sort(fires_, {}, &PendingTimer::id);
    return std::exchange(fires_, {});
  }

  ManualClock clock;
  std::function<void(TimerId)> on_fire = [](TimerId) {};

 private:
  std::mutex mutex_;
  Fires fires_;
};

}  // namespace timerbench
