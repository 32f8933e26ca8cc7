// The services over libraries and the kernel's timers, beyond what all services are tested for.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/backend_error.h"
#include "named_services.h"
#include "realtime/service.h"
#include "realtime/sleep_control.h"
#include "services/clock.h"

namespace timerbench {
namespace {

// Arms timers of the service where the system allows only so many of what it needs for each.
[[noreturn]] void arm_many(std::string_view name, int resource, rlim_t limit) {
  const rlimit few{limit, limit};
  setrlimit(static_cast<__rlimit_resource>(resource), &few);
  constexpr TimerId kTimers = 100;
  SteadyClock clock;
  try {
    const auto service = service_named(name).make(
        {.capacity = kTimers, .clock = clock, .handler = [](TimerId, Tick) {}});
    for (TimerId id = 0; id < kTimers; ++id) service->schedule(id, clock.now() + kHour);
  } catch (const BackendLimit& error) {
    std::fputs(error.what(), stderr);
    std::exit(3);
  }
  std::exit(0);
}

bool has_service(std::string_view name) { return std::ranges::count(names_of_all(), name) > 0; }

TEST(LibraryServiceDeathTest, TellsWhichLimitOfTheSystemEndsIt) {
  EXPECT_EXIT(arm_many("timerfds", RLIMIT_NOFILE, 64), testing::ExitedWithCode(3),
              "each timer is a file, and this process may have 64");
  EXPECT_EXIT(arm_many("posix_timers", RLIMIT_SIGPENDING, 0), testing::ExitedWithCode(3),
              "each timer reserves a signal, and a user may have 0");
  EXPECT_EXIT(arm_many("libuv_loop", RLIMIT_NOFILE, 64), testing::ExitedWithCode(0), "");
}

// What is asked again before the loop takes it counts once, as it was asked last.
TEST(LibraryServiceTest, FiresByTheLastOfManyMoves) {
  for (const ServiceBackend& backend : services()) {
    if (!backend.traits.is_library) continue;
    SCOPED_TRACE(backend.traits.name);
    std::atomic<int> fires = 0;
    std::atomic<Tick> fired = 0;
    SteadyClock clock;
    const auto service =
        backend.make({.capacity = 2, .clock = clock, .handler = [&](TimerId, Tick deadline) {
                        fired = deadline;
                        ++fires;
                        fires.notify_all();
                      }});
    Tick last = 0;
    for (int i = 0; i < 1'000; ++i) {
      last = clock.now() + kHour;
      service->schedule(1, last);
    }
    last = clock.now() + 2 * kMillisecond;
    service->schedule(1, last);
    fires.wait(0);
    EXPECT_EQ(fired, last);
    EXPECT_TRUE(service->stop().empty());
    EXPECT_EQ(fires, 1);
  }
}

// Runtimes have threads of their own. A wheel that ticks wakes at each tick, the others sleep.
TEST(LibraryServiceTest, CountsTheWakeupsOfARuntime) {
  const auto wakeups_a_second = [](std::string_view name) {
    SteadyClock clock;
    return idle_wakeups_per_second(service_named(name), Waiting::condition, kMillisecond, 0.2,
                                   StopFlag(false));
  };
  if (has_service("netty_wheel_10")) {
    EXPECT_NEAR(wakeups_a_second("netty_wheel_10"), 100, 50);
    EXPECT_LT(wakeups_a_second("jdk_timer"), 50);
  }
  if (has_service("go_timers_1")) {
    EXPECT_LT(wakeups_a_second("go_timers_1"), 50);
  }
}

// A caller of Go's timers runs in another thread; what it throws comes back.
TEST(LibraryServiceTest, RunsCallersWhereCallsAreCheap) {
  for (const ServiceBackend& backend : services()) {
    if (!backend.traits.is_library) continue;
    SCOPED_TRACE(backend.traits.name);
    bool has_run = false;
    const auto throwing = [&] {
      has_run = true;
      throw BackendLimit("on purpose");
    };
    EXPECT_THROW(backend.traits.run_caller(throwing), BackendLimit);
    EXPECT_TRUE(has_run);
  }
}

}  // namespace
}  // namespace timerbench
