// Netty's HashedWheelTimer of 512 slots, in a JVM (jvm_timers.h), with ticks of 1 or 10 ms.
//
// Its thread moves the hand once a tick, whether there is work or not, and first takes over what was
// armed and cancelled since, at most 100 000 of them. It sleeps whole milliseconds.
//
// Cost:
//   schedule  a mutex, a timeout, and its place in a queue without a lock; the thread's part, O(1)
//   cancel    a mutex, a place in another such queue; the thread's part, O(1)
//   fire      a mutex, and the handler
//   about 120 bytes a timer: the timeout, its closure, its places
//
// Good: no caller waits for another.
// Bad: a tick late in the mean, and it wakes at every tick.
// Follows: io.netty.util.HashedWheelTimer.
// Deviates: granules are its ticks, whatever the configuration says.
#pragma once

#include <cstddef>

#include "core/joined_name.h"
#include "peers/services/jvm_timers.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

namespace timerbench {

template <std::size_t kMilliseconds>
class NettyWheel : public ServiceOver<JvmTimers> {
 public:
  static constexpr ServiceTraits traits{
      .name = kSettingName<"netty_wheel", kMilliseconds>,
      .summary = "Netty's HashedWheelTimer, with ticks of so many milliseconds",
      .precision = Precision::granular,
      .paper = "Netty " TIMERBENCH_NETTY_VERSION ", libnetty-java, on " TIMERBENCH_JVM,
      .is_library = true,
      .own_clock = true};

  explicit NettyWheel(const ServiceConfig& config)
      : ServiceOver(config, 0, "NettyWheel", kMilliseconds) {}
};
static_assert(TimerService<NettyWheel<1>>);

}  // namespace timerbench
