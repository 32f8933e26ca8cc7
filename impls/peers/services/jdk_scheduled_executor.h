// ScheduledThreadPoolExecutor: a heap that knows each task's place, one lock, and a pool of
// threads, in a JVM (jvm_timers.h). It removes what is cancelled (setRemoveOnCancelPolicy). Delays
// are in ns of System.nanoTime(), which is CLOCK_MONOTONIC.
//
// Cost:
//   schedule  two mutexes, a task that is a future, O(log n)
//   cancel    two mutexes, O(log n)
//   fire      two mutexes, O(log n), a wake-up of the next leader, and the handler
//   about 130 bytes a timer: the task, its closures, its places
//
// Good: punctual, and handlers may have as many threads as they need.
// Bad: all threads share one lock, with the heap behind it.
// Follows: java.util.concurrent.ScheduledThreadPoolExecutor.
#pragma once

#include "peers/services/jvm_timers.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

namespace timerbench {

class JdkScheduledExecutor : public ServiceOver<JvmTimers> {
 public:
  static constexpr ServiceTraits traits{
      .name = "jdk_scheduled_executor",
      .summary = "ScheduledThreadPoolExecutor that removes on cancel",
      .precision = Precision::exact,
      .paper = "java.util.concurrent of " TIMERBENCH_JVM,
      .is_library = true,
      .own_clock = true};

  explicit JdkScheduledExecutor(const ServiceConfig& config)
      : ServiceOver(config, 0, "JdkScheduledExecutor", handler_threads(config, traits)) {}
};
static_assert(TimerService<JdkScheduledExecutor>);

}  // namespace timerbench
