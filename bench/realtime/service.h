// The timer services as values, so that a program can choose one by name.
//
// A virtual call costs 1-2 ns; the operations take at least a mutex, 20 ns and more.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "services/timer_service.h"

namespace timerbench {

// A timer service behind virtual calls. Its contract is TimerService's.
class AnyService {
 public:
  virtual ~AnyService() = default;
  virtual void schedule(TimerId id, Tick deadline) = 0;
  virtual bool cancel(TimerId id) = 0;
  virtual std::vector<PendingTimer> stop() = 0;
  virtual std::size_t size() const = 0;
  virtual std::uint64_t failures() const = 0;
  virtual std::uint64_t wakeups() const = 0;
};

struct ServiceBackend {
  ServiceTraits traits;
  // Throws BackendUnavailable.
  std::function<std::unique_ptr<AnyService>(const ServiceConfig&)> make;
};

// The services of the roster, in its order, and those over libraries and the kernel's timers.
std::span<const ServiceBackend> services();

// Those of impls/peers/services that this program has.
std::vector<ServiceBackend> library_services();

// The names of the services that drive this timer queue.
std::vector<std::string_view> services_over(std::string_view queue);

}  // namespace timerbench
