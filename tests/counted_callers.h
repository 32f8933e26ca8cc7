// Counts the callers whose work a service is given.
#pragma once

#include <atomic>
#include <functional>

#include "realtime/service.h"

namespace timerbench {

// Of the last service that with_counted_callers() returned.
inline std::atomic<int> counted_callers = 0;

inline ServiceBackend with_counted_callers(ServiceBackend service) {
  counted_callers = 0;
  service.traits.run_caller = [](const std::function<void()>& work) {
    ++counted_callers;
    work();
  };
  return service;
}

}  // namespace timerbench
