// Timers of Java programs, in a JVM inside this process.
//
// The classes in jvm_timers/ use the libraries of Java as they are: every arming makes a new task,
// and the library's own threads tell what may be due, and run the handlers. A handler that throws is
// caught before it comes to the library. The JVM is called by JNI, and calls back by it. That is in
// the figures: 47 ns to call it, 8 ns to be called back (2.6 GHz). Its collector is the serial one,
// its heap 2 GiB. It is warmed up for half a second before the first timer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "core/backend_error.h"
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
    const Jvm::LocalFrame frame(env);
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
    if (found != nullptr) return found;
    env.ExceptionClear();
    throw BackendUnavailable(std::string("the JVM finds no class ") + name + " in " +
                             TIMERBENCH_JVM_CLASSES + "; build timerbench again");
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

}  // namespace timerbench
