// The contract of a timer service: timers of many threads on a clock.
//
// A service holds pending timers, waits for the earliest and hands each to one handler when it is
// due. Timers are named by dense ids, as in a TimerQueue; deadlines are instants of the clock, in
// nanoseconds. All member functions may be called by any thread at any time, the handler included.
//
// The rules:
//
//  1. schedule() arms the timer, or moves it if it is pending. It fires once per arming, and not
//     before its deadline, as exactly as ServiceTraits::precision says. An instant in the past fires
//     at once. Deadlines up to kNever - 1 do not overflow. Also if a timer is armed just before the
//     service goes to sleep, the service does not sleep past it.
//  2. cancel() returns true exactly when it prevented the fire. A timer that is due, and waits for
//     its turn behind others, can still be cancelled or moved.
//  3. The handler runs outside every lock: it may call the service, and so may other threads
//     meanwhile.
//  4. failures() counts the handlers that threw. One that throws hurts no other timer, unless
//     ServiceTraits::ends_when_handler_throws.
//  5. stop() ends all waiting at once, returns when no handler runs any more (except one that calls
//     stop() itself) and hands back what was pending. Nothing runs afterwards, and schedule() throws
//     ServiceStopped.
//  6. size() is the number of pending timers, including those that are due and have not begun to run.
//     While other threads call, it may be off by their number.
//
// `timerbench verify SERVICE` checks all of them: verify/service_contract.h, or
// verify/system_clock_contract.h for a service with a clock of its own.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "core/timer_queue.h"
#include "services/clock.h"

namespace timerbench {

using FireHandler = std::function<void(TimerId id, Tick deadline)>;

struct ServiceConfig {
  TimerId capacity;  // ids are 0 .. capacity - 1
  Clock& clock;      // outlives the service; the system's, for one with ServiceTraits::own_clock
  FireHandler handler;
  Tick granularity = 1'000'000;  // of services that round, in ns: 1 ms
  // How many threads run handlers, of services that leave the choice; default: the service's.
  std::optional<std::size_t> threads{};
};

struct ServiceTraits {
  std::string_view name;
  std::string_view summary;
  Precision precision;
  std::string_view paper;
  std::string_view queue = "";  // the timer queue that it drives; none: its own structure
  std::size_t threads = 1;      // run handlers, unless the config says otherwise
  bool remote = false;          // operations are messages to another process
  // A handler that throws ends the service, as in the original: nothing fires any more.
  bool ends_when_handler_throws = false;
  bool is_library = false;  // the code of others, behind an adapter; ranked apart from own code
  // It sleeps by a clock of its own, CLOCK_MONOTONIC, and not by alarms of the config's. So no test
  // can set its time, and no record of waits tells why it was late.
  bool own_clock = false;
  // Does the work of a thread that calls the service all the time, here or in a thread whose calls
  // are cheaper: a runtime may know only threads of its own making. Throws what the work throws.
  void (*run_caller)(const std::function<void()>& work) = [](const std::function<void()>& work) {
    work();
  };
  const char* file = __builtin_FILE();  // where this is written: the service's source
};

struct PendingTimer {
  TimerId id;
  Tick deadline;
  bool operator==(const PendingTimer&) const = default;
};

// The number of threads that run handlers, for a service that has at least one.
inline std::size_t handler_threads(const ServiceConfig& config, const ServiceTraits& traits) {
  return std::max<std::size_t>(1, config.threads.value_or(traits.threads));
}

// Thrown by schedule() once nothing can fire any more.
struct ServiceStopped : std::logic_error {
  ServiceStopped() : std::logic_error("the timer service is stopped: nothing can be scheduled") {}
};

template <class S>
concept TimerService = std::constructible_from<S, const ServiceConfig&> &&
    requires(S s, const S& cs, TimerId id, Tick t) {
  { S::traits } -> std::convertible_to<const ServiceTraits&>;
  { s.schedule(id, t) } -> std::same_as<void>;
  { s.cancel(id) } -> std::same_as<bool>;
  { s.stop() } -> std::same_as<std::vector<PendingTimer>>;
  // Pending timers.
  { cs.size() } -> std::same_as<std::size_t>;
  { cs.failures() } -> std::same_as<std::uint64_t>;  // handlers that threw
  { cs.wakeups() } -> std::same_as<std::uint64_t>;   // ends of waits, of all threads
};

}  // namespace timerbench
