// The timers of Go programs: time.AfterFunc(), Reset() and Stop(), in Go's runtime inside this
// process, on one or two processors (GOMAXPROCS).
//
// The library beside this file (go_timers/) uses the runtime as it is. A heap of four children for
// each processor holds the timers; an idle thread waits for the first of them in epoll, by whole
// milliseconds; each fire starts a goroutine, which runs the handler, so any number run at a time,
// unless the configuration says how many. An id keeps its timer.
//
// What it takes to enter Go is in the figures. A thread that Go has made needs 60 ns for a call,
// any other 1.3 us (Go 1.19, 2.6 GHz). So the loads run their callers in threads of Go (run_caller).
// Such a thread keeps its processor of Go while it is outside, until the runtime's monitor takes it
// away, which looks every 20 us to 10 ms. With two processors timers are as late as in a program of
// Go alone (0.55 ms in the median at 10^3 and 10^4 a second); with one they are less late, for the
// runtime looks at its timers whenever a thread enters (0.16 to 0.19 ms at 10^4 a second).
//
// Cost:
//   schedule  a mutex, the call, Reset(): the lock of a processor's heap, O(log n)
//   cancel    a mutex, the call, Stop(): O(1), and a sweep when a quarter are stopped
//   fire      a goroutine, a mutex, and the handler
//   150 bytes a timer
//
// Good: handlers that take long hurt nobody.
// Bad: half a millisecond late, and two processors pay for each other's timers.
// Follows: package time of Go.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/backend_error.h"
#include "core/joined_name.h"
#include "peers/services/counted_thread.h"
#include "peers/services/require_room.h"
#include "peers/services/service_over.h"
#include "services/clock.h"
#include "services/timer_service.h"

// Defined by go_timers.cmake.
#ifndef TIMERBENCH_GO_LIBRARY
#error "go_timers.cmake builds this"
#endif

namespace timerbench {

// Go's runtime of this process, with the functions of go_timers.go. It stays until the process ends.
class Go {
  // A function of the library, of the type that is wanted.
  class Function {
   public:
    explicit Function(void* address) : address_(address) {}
    template <class Type>
    operator Type() const {
      return reinterpret_cast<Type>(address_);
    }

   private:
    void* address_;
  };

  Function function(const char* name) const { return Function(dlsym(library_, name)); }

  static void* open() {
    require_room("Go's runtime", std::size_t{1} << 30, 0);
    void* const library = dlopen(TIMERBENCH_GO_LIBRARY, RTLD_NOW);
    if (library == nullptr) throw BackendUnavailable(dlerror());
    return library;
  }

  ThreadIds others_ = threads_of_process();  // were there before, or have called run()
  void* const library_ = open();             // the functions that follow are of it

 public:
  // Starts it when it is first called. Throws BackendUnavailable.
  static Go& instance() {
    static Go go;
    return go;
  }

  int (*timers_make)(int processors, int turns, std::uint32_t capacity,
                     void (*tell)(void*, std::uint32_t), void* service) = function("TimersMake");
  void (*timers_set)(int number, std::uint32_t id, std::int64_t delay) = function("TimersSet");
  void (*timers_stop)(int number, std::uint32_t id) = function("TimersStop");
  void (*timers_close)(int number) = function("TimersClose");

  // Does the work of a caller in a thread of Go.
  void run(const std::function<void()>& work) {
    struct Work {
      Go& go;
      const std::function<void()>& work;
      std::exception_ptr thrown;
    } argument{*this, work, nullptr};
    {
      const std::lock_guard lock(mutex_);
      const pid_t self = gettid();
      const auto place = std::ranges::lower_bound(others_, self);
      if (place == others_.end() || *place != self) others_.insert(place, self);
    }
    callers_run_(
        [](void* pointer) {
          auto& [go, work, thrown] = *static_cast<Work*>(pointer);
          const Calling calling(go);
          try {
            work();
          } catch (...) {  // must not pass through frames of Go
            thrown = std::current_exception();
          }
        },
        &argument);
    if (argument.thrown) std::rethrow_exception(argument.thrown);
  }

  // How often threads of Go have slept since it was started, while they did not do the work of a
  // caller.
  std::uint64_t sleeps() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sleeps = sleeps_of(without(threads_of_process(), others_)) - callers_sleeps_;
    for (const auto& [thread, before] : callers_) {
      sleeps -= sleeps_of(thread).value_or(before) - before;
    }
    return sleeps;
  }

 private:
  // While this lives, its thread does the work of a caller.
  class Calling {
   public:
    explicit Calling(Go& go) : go_(go) {
      const std::lock_guard lock(go_.mutex_);
      go_.callers_.emplace(gettid(), sleeps_of_this_thread());
    }
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;
    ~Calling() {
      const std::lock_guard lock(go_.mutex_);
      const auto caller = go_.callers_.extract(gettid());
      go_.callers_sleeps_ += sleeps_of_this_thread() - caller.mapped();
    }

   private:
    Go& go_;
  };

  void (*const callers_run_)(void (*work)(void*), void* argument) = function("CallersRun");
  mutable std::mutex mutex_;                // of the following, and of others_
  std::map<pid_t, std::uint64_t> callers_;  // and how often they had slept before
  std::uint64_t callers_sleeps_ = 0;        // of those that have ended
};

class GoRuntimeTimers {
 public:
  // `handlers`: how many run at a time; none: all that are due.
  GoRuntimeTimers(TimerId capacity, MayBeDue may_be_due, std::size_t processors,
                  std::optional<std::size_t> handlers)
      : may_be_due_(std::move(may_be_due)),
        number_(go_.timers_make(
            static_cast<int>(processors), static_cast<int>(handlers.value_or(0)), capacity,
            [](void* timers, std::uint32_t id) {
              static_cast<GoRuntimeTimers*>(timers)->may_be_due_(id);
            },
            this)) {
    if (number_ < 0) throw BackendLimit("Go has 1024 services already; make fewer at a time");
  }

  GoRuntimeTimers(const GoRuntimeTimers&) = delete;
  GoRuntimeTimers& operator=(const GoRuntimeTimers&) = delete;

  ~GoRuntimeTimers() { go_.timers_close(number_); }

  void set(TimerId id, Tick deadline) {
    if (deadline == kNever) return go_.timers_stop(number_, id);
    constexpr Tick kEnd = std::numeric_limits<std::int64_t>::max();
    const Tick delay = std::min(deadline - std::min(deadline, clock_.now()), kEnd);
    go_.timers_set(number_, id, static_cast<std::int64_t>(delay));
  }

  void end() {}  // until the destructor nothing that they tell is due any more

  std::uint64_t sleeps() const { return go_.sleeps() - sleeps_before_; }

 private:
  const MayBeDue may_be_due_;
  const SteadyClock clock_;
  Go& go_ = Go::instance();
  const std::uint64_t sleeps_before_ = go_.sleeps();
  const int number_;
};

template <std::size_t kProcessors>
class GoTimers : public ServiceOver<GoRuntimeTimers> {
 public:
  static constexpr ServiceTraits traits{
      .name = kSettingName<"go_timers", kProcessors>,
      .summary = "AfterFunc, Reset and Stop of Go, on so many processors",
      .precision = Precision::exact,
      .paper = "package time of Go " TIMERBENCH_GO_VERSION ", golang-go",
      .threads = std::numeric_limits<std::size_t>::max(),  // a goroutine for each that is due
      .is_library = true,
      .own_clock = true,
      .run_caller = [](const std::function<void()>& work) { Go::instance().run(work); }};

  explicit GoTimers(const ServiceConfig& config)
      : ServiceOver(config, 0, kProcessors, config.threads) {}
};
static_assert(TimerService<GoTimers<1>>);

}  // namespace timerbench
