// A process that does one piece of work and never outlives whoever has started it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace timerbench {

// Starts a process that does `work` and exits with EXIT_SUCCESS, unless `work` itself exits. The kernel
// kills it (kill -9) when the thread ends that has called this. Throws std::system_error. The caller
// waits for it (waitpid). REQUIRES: `work` throws nothing.
pid_t start_child(const std::function<void()>& work);

// What a process of this status, of waitpid(), has done wrong: "was ended by the signal 9 (Killed)".
// Empty if it has ended well.
std::string how_it_failed(int status);

}  // namespace timerbench
