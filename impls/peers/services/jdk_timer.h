// java.util.Timer: a heap, one lock, and a thread that runs the tasks, in a JVM (jvm_timers.h).
//
// It takes whole milliseconds of the wall clock. It is given a Date, the deadline rounded up, so
// that nothing is early. A cancelled task stays in the heap until it surfaces, or until a purge:
// when as many are cancelled as there are ids.
//
// Cost:
//   schedule  two mutexes, a task and a date, O(log n)
//   cancel    a mutex, the task's lock, and a share of a purge: O(log n)
//   fire      O(log n), a mutex, and the handler
//   about 100 bytes a timer: the task, its closure, two places
//
// Good: it is in every JVM.
// Bad: a millisecond late in the mean, half by rounding, half because it sleeps whole ones.
// Follows: java.util.Timer.
// Deviates: it purges by itself; a handler that throws does not end it.
#pragma once

#include "peers/services/jvm_timers.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

namespace timerbench {

class JdkTimer : public ServiceOver<JvmTimers> {
 public:
  static constexpr ServiceTraits traits{
      .name = "jdk_timer",
      .summary = "java.util.Timer, by the wall clock's milliseconds",
      .precision = Precision::granular,
      .paper = "java.util.Timer of " TIMERBENCH_JVM,
      .is_library = true,
      .own_clock = true};

  explicit JdkTimer(const ServiceConfig& config) : ServiceOver(config, 0, "JdkTimer", 1) {}
};
static_assert(TimerService<JdkTimer>);

}  // namespace timerbench
