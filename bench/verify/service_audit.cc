#include "verify/service_audit.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "realtime/contention.h"
#include "services/clock.h"
#include "workloads/random.h"

namespace timerbench {
namespace {

constexpr std::size_t kThreads = 4;
constexpr TimerId kTimers = 256;
constexpr Tick kGranularity = kMillisecond / 8;  // fine, so that much happens in a short time

template <Pattern kPattern>
std::optional<std::string> audit_pattern(const ServiceBackend& backend,
                                         const ServiceAuditOptions& options, const StopFlag& stop) {
  AuditedService::Counts counts;
  return audit_contention({.pattern = kPattern,
                           .threads = kThreads,
                           .timers = kTimers,
                           .seconds = options.seconds,
                           .granularity = kGranularity,
                           .seed = options.seed},
                          backend, AuditEnd::drained, counts, stop);
}

std::optional<std::string> audit_stop(const ServiceBackend& backend,
                                      const ServiceAuditOptions& options, const StopFlag& stop) {
  constexpr double kSeconds = 0.01;  // until each stop
  const int times = std::max(1, static_cast<int>(options.seconds / kSeconds));
  AuditedService::Counts counts;
  for (int i = 0; i < times && !stop; ++i) {
    auto violation = audit_contention({.pattern = kPatterns[i % std::size(kPatterns)],
                                       .threads = kThreads,
                                       .timers = kTimers,
                                       .seconds = kSeconds,
                                       .granularity = kGranularity,
                                       .seed = options.seed + static_cast<std::uint64_t>(i)},
                                      backend, AuditEnd::amid_calls, counts, stop);
    if (violation) return violation;
    options.progress();  // a thread that polls may take long to stop on a busy machine
  }
  return std::nullopt;
}

// A clock that is slow now and then, so that other threads run between a thread's clock reads and
// its sleeps.
class HesitantClock final : public Clock {
 public:
  explicit HesitantClock(Clock& clock) : clock_(clock) {}

  Tick now() const override {
    static thread_local Random random(1);
    if (random.below(2) == 0) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(random.log_uniform(17)));
    }
    return clock_.now();
  }
  std::unique_ptr<Alarm> make_alarm() override { return clock_.make_alarm(); }

 private:
  Clock& clock_;
};

// Binds this thread and those that it starts to one processor, while this exists.
class OneProcessor {
 public:
  OneProcessor() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof(before_), &before_); }

 private:
  cpu_set_t before_;
};

// Waits for the fire; returns false if it does not happen within five seconds.
bool await_fire(const Clock& clock, const std::atomic<std::uint64_t>& fired, std::uint64_t wanted,
                Tick deadline, const StopFlag& stop) {
  constexpr Tick kSpin = 200'000;
  constexpr Tick kPatience = 5'000 * kMillisecond;
  while (fired < wanted && !stop) {
    const Tick now = clock.now();
    if (now > deadline + kPatience) return false;
    if (now < deadline + kSpin) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  return true;
}

std::optional<std::string> audit_wakeups_with(std::optional<std::size_t> handler_threads,
                                              const ServiceBackend& backend,
                                              const ServiceAuditOptions& options,
                                              const StopFlag& stop) {
  constexpr TimerId kFar = 0;
  constexpr TimerId kNear = 4;  // in one shard with the other id
  SteadyClock steady;
  HesitantClock clock(steady);
  std::atomic<std::uint64_t> fired = 0;
  const auto service = backend.make({.capacity = 8,
                                     .clock = clock,
                                     .handler = [&](TimerId, Tick) { ++fired; },
                                     .granularity = kGranularity,
                                     .threads = handler_threads});
  Random random(options.seed);
  const Tick end = steady.now() + static_cast<Tick>(options.seconds * 1e9);
  service->schedule(kFar, steady.now() + kHour);
  for (std::uint64_t armed = 1; steady.now() < end && !stop; ++armed) {
    const Tick phase = steady.now() + random.log_uniform(17);
    while (steady.now() < phase) std::this_thread::yield();
    const Tick now = steady.now();
    const Tick deadline = now + random.log_uniform(17);
    service->schedule(kNear, deadline);
    if (!await_fire(steady, fired, armed, deadline, stop)) {
      return fmt::format(
          "a wakeup was lost: while a timer was due in an hour, another was armed for {} us later "
          "and had not fired 5 s after that (it was number {} of such timers)",
          (deadline - now) / 1000, armed);
    }
  }
  service->stop();
  return std::nullopt;
}

std::optional<std::string> audit_wakeups(const ServiceBackend& backend,
                                         const ServiceAuditOptions& options, const StopFlag& stop) {
  ServiceAuditOptions part = options;
  part.seconds /= 4;
  for (const std::optional<std::size_t> threads : {std::optional<std::size_t>(), {2}}) {
    if (auto wrong = audit_wakeups_with(threads, backend, part, stop)) return wrong;
    const OneProcessor bound;
    if (auto wrong = audit_wakeups_with(threads, backend, part, stop)) return wrong;
    ++part.seed;
  }
  return std::nullopt;
}

constexpr ServiceAudit kAudits[] = {
    {"wakeup", audit_wakeups},
    {"own", audit_pattern<Pattern::own>},
    {"cross", audit_pattern<Pattern::cross>},
    {"hot", audit_pattern<Pattern::hot>},
    {"stop", audit_stop},
};

}  // namespace

std::span<const ServiceAudit> service_audits() { return kAudits; }

}  // namespace timerbench
