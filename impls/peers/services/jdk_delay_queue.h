// java.util.concurrent.DelayQueue: a heap, one lock, and takers, in a JVM (jvm_timers.h).
//
// One of the takers, the leader, waits for the first timer. Deadlines are in ns of
// System.nanoTime(), which is CLOCK_MONOTONIC.
//
// Cost:
//   schedule  two mutexes, an element, O(log n)
//   cancel    two mutexes, O(n): remove() looks at every element, and so does moving a timer
//   fire      two mutexes, O(log n), a wake-up of the next leader, and the handler
//   32 bytes a timer, and its two places
//
// Good: while hardly any timer is cancelled.
// Bad: for time-outs: some us a call with 30 000 timers.
// Follows: java.util.concurrent.DelayQueue, with the threads that take from it.
#pragma once

#include "peers/services/jvm_timers.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

namespace timerbench {

class JdkDelayQueue : public ServiceOver<JvmTimers> {
 public:
  static constexpr ServiceTraits traits{.name = "jdk_delay_queue",
                                        .summary = "java.util.concurrent.DelayQueue, two takers",
                                        .precision = Precision::exact,
                                        .paper = "java.util.concurrent of " TIMERBENCH_JVM,
                                        .threads = 2,
                                        .is_library = true,
                                        .own_clock = true};

  explicit JdkDelayQueue(const ServiceConfig& config)
      : ServiceOver(config, 0, "JdkDelayQueue", handler_threads(config, traits)) {}
};
static_assert(TimerService<JdkDelayQueue>);

}  // namespace timerbench
