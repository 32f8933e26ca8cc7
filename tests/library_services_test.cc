// The services over libraries and the kernel's timers, beyond what all services are tested for.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <string_view>
#include <thread>

#include "core/backend_error.h"
#include "named_services.h"
#include "realtime/service.h"
#include "realtime/sleep_control.h"
#include "services/clock.h"

namespace timerbench {
namespace {

// Arms timers of the service, and lets one fire, where the system allows only so many of what it
// needs for each.
[[noreturn]] void arm_many(std::string_view name, int resource, rlim_t limit) {
  const rlimit few{limit, limit};
  setrlimit(static_cast<__rlimit_resource>(resource), &few);
  constexpr TimerId kTimers = 100;
  SteadyClock clock;
  std::atomic<bool> has_fired = false;
  const auto fire = [&](TimerId, Tick) {
    has_fired = true;
    has_fired.notify_all();
  };
  try {
    const auto service =
        service_named(name).make({.capacity = kTimers, .clock = clock, .handler = fire});
    for (TimerId id = 1; id < kTimers; ++id) service->schedule(id, clock.now() + kHour);
    service->schedule(0, clock.now());
    has_fired.wait(false);
  } catch (const BackendError& error) {
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

// A runtime that finds no memory when it starts ends the process, with all its figures.
TEST(LibraryServiceDeathTest, StartsNoRuntimeWithoutMemory) {
  constexpr rlim_t kGib = rlim_t{1} << 30;
  for (const char* name : {"jdk_timer", "go_timers_1"}) {
    if (!has_service(name)) continue;
    EXPECT_EXIT(arm_many(name, RLIMIT_AS, kGib / 2), testing::ExitedWithCode(3), "raise ulimit -v");
  }
}

// Too few files, wherever that is noticed, are told to the caller.
TEST(LibraryServiceDeathTest, OpensAllFilesBeforeItsThreadRuns) {
  if (!has_service("sd_event_loop")) GTEST_SKIP();
  const auto is_told = [](int status) {
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3);
  };
  for (rlim_t files = 3; files < 16; ++files) {
    EXPECT_EXIT(arm_many("sd_event_loop", RLIMIT_NOFILE, files), is_told, "") << files;
  }
}

// A library that starts may pin the thread that starts it.
TEST(LibraryServiceDeathTest, LeavesTheCallerOnItsProcessor) {
  for (const ServiceBackend& backend : services()) {
    if (!backend.traits.is_library) continue;
    const auto make_on_one_processor = [&] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(sched_getcpu(), &one);
      sched_setaffinity(0, sizeof(one), &one);
      SteadyClock clock;
      const auto service =
          backend.make({.capacity = 1, .clock = clock, .handler = [](TimerId, Tick) {}});
      cpu_set_t after;
      sched_getaffinity(0, sizeof(after), &after);
      std::_Exit(CPU_EQUAL(&one, &after) ? 0 : 1);
    };
    EXPECT_EXIT(make_on_one_processor(), testing::ExitedWithCode(0), "") << backend.traits.name;
  }
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

// The best of some timers, since the machine may be busy. A library may round by far more than it
// must, unless it is told not to.
TEST(LibraryServiceTest, FiresSoonAfterTheDeadline) {
  for (const ServiceBackend& backend : services()) {
    if (!backend.traits.is_library) continue;
    SCOPED_TRACE(backend.traits.name);
    Tick least = kNever;
    for (int i = 0; i < 5; ++i) {
      SteadyClock clock;
      std::atomic<Tick> late = kNever;
      const auto service =
          backend.make({.capacity = 1, .clock = clock, .handler = [&](TimerId, Tick deadline) {
                          late = clock.now() - deadline;
                          late.notify_all();
                        }});
      service->schedule(0, clock.now() + 2 * kMillisecond);
      late.wait(kNever);
      service->stop();
      least = std::min(least, late.load());
    }
    EXPECT_LT(least, 25 * kMillisecond);
  }
}

// Each of two handlers waits for the other.
TEST(LibraryServiceTest, RunsAsManyHandlersAtATimeAsItSays) {
  for (const ServiceBackend& backend : services()) {
    if (!backend.traits.is_library || backend.traits.threads < 2) continue;
    SCOPED_TRACE(backend.traits.name);
    SteadyClock clock;
    std::latch both(2);
    std::atomic<bool> have_met = true;
    std::latch done(2);
    const auto meet = [&](TimerId, Tick) {
      both.count_down();
      const Tick give_up = clock.now() + 2'000 * kMillisecond;
      while (!both.try_wait() && clock.now() < give_up) std::this_thread::yield();
      if (!both.try_wait()) have_met = false;
      done.count_down();
    };
    const auto service = backend.make({.capacity = 2, .clock = clock, .handler = meet});
    service->schedule(0, clock.now());
    service->schedule(1, clock.now());
    done.wait();
    service->stop();
    EXPECT_TRUE(have_met);
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

// A runtime serves many services, one after the other, and callers run in its threads.
TEST(LibraryServiceTest, CountsTheWakeupsOfThisServiceAlone) {
  for (const ServiceBackend& backend : services()) {
    if (!backend.traits.is_library) continue;
    SCOPED_TRACE(backend.traits.name);
    SteadyClock clock;
    const ServiceConfig config{.capacity = 1, .clock = clock, .handler = [](TimerId, Tick) {}};
    const auto first = backend.make(config);
    backend.traits.run_caller([&] {
      for (int i = 0; i < 100; ++i) {
        first->schedule(0, clock.now());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    first->stop();
    EXPECT_LT(backend.make(config)->wakeups(), 50);
  }
}

// The heap has room for the ids of 15 of these, and a collector that must find those of the others.
TEST(LibraryServiceTest, LeavesNothingInTheHeapOfTheJvm) {
  if (!has_service("jdk_delay_queue")) GTEST_SKIP();
  constexpr TimerId kCapacity = 20'000'000;
  SteadyClock clock;
  for (int i = 0; i < 25; ++i) {
    service_named("jdk_delay_queue")
        .make({.capacity = kCapacity, .clock = clock, .handler = [](TimerId, Tick) {}});
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
