// The timers of Java programs: of the JDK and of Netty, in a JVM inside this process.
//
// The classes beside this file (jvm_timers/) use the libraries as they are. They are called by JNI,
// and call back by it. What a thread of C++ needs for that is in the figures: 47 ns to call, 8 ns
// to be called back (2.6 GHz). Every arming makes a new task, as in Java programs. The library's own
// threads run the handlers. The JVM has a serial collector and 2 GiB. Before the first timer it
// warms up for half a second.
//
// What each class of the libraries does is said at the head of jvm_timers/NAME.java. A handler that
// throws is caught before it comes to the library, so java.util.Timer does not end by it.
//
// Follows: java.util.Timer, java.util.concurrent.DelayQueue and ScheduledThreadPoolExecutor of
//   OpenJDK; io.netty.util.HashedWheelTimer.
// Deviates: java.util.Timer is given a Date of the deadline, rounded up to its millisecond, and is
//   purged when as many are cancelled as there are ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "peers/services/counted_thread.h"
#include "peers/services/jvm.h"
#include "peers/services/service_over.h"
#include "services/timer_service.h"

namespace timerbench {

class JvmTimers {
 public:
  // `kind`: a subclass of Timers.java. `setting`: the last argument of its constructor.
  JvmTimers(TimerId capacity, MayBeDue may_be_due, const char* kind, std::size_t setting)
      : may_be_due_(std::move(may_be_due)), jvm_(Jvm::instance()) {
    JNIEnv& env = jvm_.env();
    const jclass timers = find(env, "Timers");
    const jclass made = find(env, kind);
    JNINativeMethod tell{.name = const_cast<char*>("tell"),
                         .signature = const_cast<char*>("(JI)V"),
                         .fnPtr = reinterpret_cast<void*>(&JvmTimers::tell)};
    env.RegisterNatives(timers, &tell, 1);
    arm_ = env.GetMethodID(timers, "arm", "(IJ)V");
    disarm_ = env.GetMethodID(timers, "disarm", "(I)V");
    close_ = env.GetMethodID(timers, "close", "()V");
    const jmethodID make = env.GetMethodID(made, "<init>", "(JII)V");
    const auto create = [&](JvmTimers* told, TimerId ids) {
      const jobject created =
          env.NewObject(made, make, static_cast<jlong>(reinterpret_cast<std::intptr_t>(told)),
                        static_cast<jint>(ids), static_cast<jint>(setting));
      Jvm::check(env);
      return created;
    };
    static const char* warm = nullptr;
    if (std::exchange(warm, kind) != kind) {
      env.CallVoidMethod(create(nullptr, 2), env.GetMethodID(timers, "warmUp", "()V"));
      Jvm::check(env);
    }
    const ThreadIds before = threads_of_process();
    timers_ = env.NewGlobalRef(create(this, capacity));
    threads_ = without(threads_of_process(), before);
  }

  JvmTimers(const JvmTimers&) = delete;
  JvmTimers& operator=(const JvmTimers&) = delete;

  ~JvmTimers() {
    JNIEnv& env = jvm_.env();
    env.CallVoidMethod(timers_, close_);
    env.DeleteGlobalRef(timers_);
  }

  void set(TimerId id, Tick deadline) {
    constexpr Tick kEnd = std::numeric_limits<jlong>::max() / 2;  // sums with a clock are possible
    JNIEnv& env = jvm_.env();
    if (deadline == kNever) {
      env.CallVoidMethod(timers_, disarm_, static_cast<jint>(id));
    } else {
      env.CallVoidMethod(timers_, arm_, static_cast<jint>(id),
                         static_cast<jlong>(std::min(deadline, kEnd)));
    }
    Jvm::check(env);
  }

  void end() {}  // the threads go on until the destructor: nothing that they tell is due any more

  std::uint64_t sleeps() const { return sleeps_of(threads_); }

 private:
  static jclass find(JNIEnv& env, const char* name) {
    const jclass found = env.FindClass(name);
    Jvm::check(env);
    return found;
  }

  static void JNICALL tell(JNIEnv*, jclass, jlong timers, jint id) noexcept {
    reinterpret_cast<JvmTimers*>(static_cast<std::intptr_t>(timers))
        ->may_be_due_(static_cast<TimerId>(id));
  }

  const MayBeDue may_be_due_;
  const Jvm& jvm_;
  jmethodID arm_;
  jmethodID disarm_;
  jmethodID close_;
  ThreadIds threads_;
  jobject timers_;  // its threads use the others
};

class JdkTimer : public ServiceOver<JvmTimers> {
 public:
  static constexpr ServiceTraits traits{
      .name = "jdk_timer",
      .summary = "java.util.Timer, by the wall clock's milliseconds",
      .precision = Precision::granular,
      .paper = "java.util.Timer of OpenJDK " TIMERBENCH_JVM_VERSION,
      .is_library = true,
      .own_clock = true};

  explicit JdkTimer(const ServiceConfig& config) : ServiceOver(config, 0, "JdkTimer", 1) {}
};
static_assert(TimerService<JdkTimer>);

class JdkDelayQueue : public ServiceOver<JvmTimers> {
 public:
  static constexpr ServiceTraits traits{
      .name = "jdk_delay_queue",
      .summary = "java.util.concurrent.DelayQueue, two takers",
      .precision = Precision::exact,
      .paper = "java.util.concurrent.DelayQueue of OpenJDK " TIMERBENCH_JVM_VERSION,
      .threads = 2,
      .is_library = true,
      .own_clock = true};

  explicit JdkDelayQueue(const ServiceConfig& config)
      : ServiceOver(config, 0, "JdkDelayQueue", handler_threads(config, traits)) {}
};
static_assert(TimerService<JdkDelayQueue>);

class JdkScheduledExecutor : public ServiceOver<JvmTimers> {
 public:
  static constexpr ServiceTraits traits{
      .name = "jdk_scheduled_executor",
      .summary = "ScheduledThreadPoolExecutor that removes on cancel",
      .precision = Precision::exact,
      .paper = "java.util.concurrent of OpenJDK " TIMERBENCH_JVM_VERSION,
      .is_library = true,
      .own_clock = true};

  explicit JdkScheduledExecutor(const ServiceConfig& config)
      : ServiceOver(config, 0, "JdkScheduledExecutor", handler_threads(config, traits)) {}
};
static_assert(TimerService<JdkScheduledExecutor>);

#ifdef TIMERBENCH_NETTY_VERSION
template <std::size_t kMilliseconds>
class NettyWheel : public ServiceOver<JvmTimers> {
  static_assert(kMilliseconds == 1 || kMilliseconds == 10);

 public:
  static constexpr ServiceTraits traits{
      .name = kMilliseconds == 1 ? "netty_wheel_1ms" : "netty_wheel_10ms",
      .summary = "Netty's HashedWheelTimer, with ticks of so many milliseconds",
      .precision = Precision::granular,
      .paper = "Netty " TIMERBENCH_NETTY_VERSION ", OpenJDK " TIMERBENCH_JVM_VERSION,
      .is_library = true,
      .own_clock = true};

  explicit NettyWheel(const ServiceConfig& config)
      : ServiceOver(config, 0, "NettyWheel", kMilliseconds) {}
};
static_assert(TimerService<NettyWheel<1>>);
#endif

}  // namespace timerbench
