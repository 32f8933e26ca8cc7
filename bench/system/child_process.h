// A process that does one piece of work and never outlives whoever has started it.
#pragma once

#include <sys/types.h>

#include <functional>

namespace timerbench {

// Starts a process that does `work` and exits with EXIT_SUCCESS, unless `work` itself exits. The kernel
// kills it (kill -9) when the thread ends that has called this. Throws std::system_error. The caller
// waits for it (waitpid). REQUIRES: `work` throws nothing.
pid_t start_child(const std::function<void()>& work);

}  // namespace timerbench
