// The Java virtual machine of this process, in which timers of the JVM run.
#pragma once

#include <dlfcn.h>
#include <jni.h>
#include <stdlib.h>

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include "core/backend_error.h"
#include "peers/services/require_room.h"

// Where the JVM and the classes are, and how it is started: defined by jvm_timers.cmake.
#ifndef TIMERBENCH_LIBJVM
#error "jvm_timers.cmake builds this"
#endif

namespace timerbench {

// A process can start one, once. So it stays until the process ends. All functions may be called by
// any thread.
class Jvm {
 public:
  // Starts it when it is first called, in some 30 ms. Throws BackendUnavailable.
  static const Jvm& instance() {
    static const Jvm jvm;
    return jvm;
  }

  // For the calling thread, which stays attached until it ends. 2 ns, and 300 us the first time.
  JNIEnv& env() const {
    static thread_local Attachment attached;
    if (attached.env == nullptr) attached.attach(*vm_);
    return *attached.env;
  }

  // The JVM keeps what a thread has been given until this ends; without one, until the thread ends.
  class LocalFrame {
   public:
    explicit LocalFrame(JNIEnv& env) : env_(env) { env.PushLocalFrame(16); }
    LocalFrame(const LocalFrame&) = delete;
    LocalFrame& operator=(const LocalFrame&) = delete;
    ~LocalFrame() { env_.PopLocalFrame(nullptr); }

   private:
    JNIEnv& env_;
  };

  // Throws BackendError if the last call has thrown something in the JVM, and BackendLimit if that
  // is for lack of memory.
  static void check(JNIEnv& env) {
    if (env.ExceptionCheck() == JNI_FALSE) return;
    const jthrowable thrown = env.ExceptionOccurred();
    env.ExceptionClear();
    const LocalFrame frame(env);
    if (env.IsInstanceOf(thrown, env.FindClass("java/lang/OutOfMemoryError"))) {
      env.DeleteLocalRef(thrown);
      throw BackendLimit("the heap of the JVM, 2 GiB, is full; choose fewer timers");
    }
    const jmethodID to_string =
        env.GetMethodID(env.GetObjectClass(thrown), "toString", "()Ljava/lang/String;");
    const auto text = static_cast<jstring>(env.CallObjectMethod(thrown, to_string));
    if (text == nullptr) {
      env.ExceptionClear();
      throw BackendError("the JVM has thrown something that it cannot describe");
    }
    const char* const letters = env.GetStringUTFChars(text, nullptr);
    const std::string message = letters;
    env.ReleaseStringUTFChars(text, letters);
    throw BackendError("the JVM has thrown " + message);
  }

 private:
  struct Attachment {
    JNIEnv* env = nullptr;
    JavaVM* vm = nullptr;  // if the thread is not the JVM's own

    void attach(JavaVM& to) {
      if (to.GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_10) == JNI_OK) return;
      if (to.AttachCurrentThreadAsDaemon(reinterpret_cast<void**>(&env), nullptr) != JNI_OK) {
        throw BackendLimit("the JVM cannot attach another thread; choose fewer");
      }
      vm = &to;
    }
    ~Attachment() {
      if (vm != nullptr) vm->DetachCurrentThread();
    }
  };

  Jvm() {
    // It ends the process if it lacks memory: for classes and code, and for its heap.
    require_room("the JVM", std::size_t{2} << 30, std::size_t{2} << 30);
    // It would let these change its flags, and so the figures.
    unsetenv("JAVA_TOOL_OPTIONS");
    unsetenv("_JAVA_OPTIONS");
    void* const library = dlopen(TIMERBENCH_LIBJVM, RTLD_NOW);
    if (library == nullptr) throw BackendUnavailable(dlerror());
    const auto create =
        reinterpret_cast<decltype(&JNI_CreateJavaVM)>(dlsym(library, "JNI_CreateJavaVM"));
    std::vector<std::string> words{"-Djava.class.path=" TIMERBENCH_JVM_CLASSES};
    std::istringstream flags(TIMERBENCH_JVM_FLAGS);
    for (std::string flag; flags >> flag;) words.push_back(flag);
    std::vector<JavaVMOption> options;
    for (std::string& word : words)
      options.push_back({.optionString = word.data(), .extraInfo = nullptr});
    JavaVMInitArgs arguments{.version = JNI_VERSION_10,
                             .nOptions = static_cast<jint>(options.size()),
                             .options = options.data(),
                             .ignoreUnrecognized = JNI_FALSE};
    JNIEnv* env;
    if (create(&vm_, reinterpret_cast<void**>(&env), &arguments) != JNI_OK) {
      throw BackendUnavailable("the JVM does not start; what it has written says why");
    }
  }

  JavaVM* vm_;
};

}  // namespace timerbench
