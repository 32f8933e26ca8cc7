#include "realtime/sleep_control.h"

#include <thread>
#include <utility>
#include <vector>

#include "realtime/make_service.h"
#include "realtime/paced.h"
#include "realtime/stoppable_wait.h"
#include "workloads/random.h"

namespace timerbench {
namespace {

class IdleService {
 public:
  static constexpr ServiceTraits traits{.name = "control",
                                        .summary = "fires each timer as it is armed",
                                        .precision = Precision::none,
                                        .paper = ""};

  explicit IdleService(const ServiceConfig& config) : handler_(config.handler) {}

  void schedule(TimerId id, Tick deadline) { handler_(id, deadline); }
  bool cancel(TimerId) { return false; }
  std::vector<PendingTimer> stop() { return {}; }
  std::size_t size() const { return 0; }
  std::uint64_t failures() const { return 0; }
  std::uint64_t wakeups() const { return 0; }

 private:
  const FireHandler handler_;
};

}  // namespace

ServiceBackend idle_service() { return make_service_backend<IdleService>(); }

Durations measure_sleep_lateness(Waiting waiting, std::span<const Tick> offsets,
                                 const StopFlag& stop) {
  SteadyClock clock(waiting);
  const std::unique_ptr<Alarm> alarm = clock.make_alarm();
  const Tick start = clock.now() + kLead;
  Durations lateness;
  // A separate thread, since nanosleep sets the timer slack of the waiting thread.
  std::jthread sleeper([&] {
    for (const Tick offset : offsets) {
      if (!wait_until(clock, *alarm, start + offset, stop)) return;
      lateness.add(static_cast<double>(clock.now() - (start + offset)));
    }
  });
  sleeper.join();
  return lateness;
}

Durations measure_sleep_lateness(Waiting waiting, int samples, Tick period, const StopFlag& stop) {
  Random random(1);
  std::vector<Tick> offsets;
  for (int i = 0; i < samples; ++i) {
    offsets.push_back(static_cast<Tick>(i) * period +
                      random.below(static_cast<std::uint32_t>(period)));
  }
  return measure_sleep_lateness(waiting, offsets, stop);
}

double idle_wakeups_per_second(const ServiceBackend& backend, Waiting waiting, Tick granularity,
                               double seconds, const StopFlag& stop) {
  constexpr Tick kSettle = 50 * kMillisecond;  // its threads start, and learn of the timer
  SteadyClock clock(waiting);
  const auto service = backend.make(
      {.capacity = 1, .clock = clock, .handler = [](TimerId, Tick) {}, .granularity = granularity});
  const std::unique_ptr<Alarm> alarm = make_punctual_alarm();
  service->schedule(0, clock.now() + kHour);
  wait_until(clock, *alarm, clock.now() + kSettle, stop);
  const Tick begin = clock.now();
  const std::uint64_t before = service->wakeups();
  wait_until(clock, *alarm, begin + static_cast<Tick>(seconds * 1e9), stop);
  const auto wakeups = static_cast<double>(service->wakeups() - before);
  const Tick elapsed = clock.now() - begin;
  service->stop();
  return wakeups / (static_cast<double>(elapsed) / 1e9);
}

}  // namespace timerbench
