// What processes and all their descendants have used.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace timerbench {

// These and all their descendants, those that live. A server that has ended may have the number 0,
// and so has the parent of whoever started a container: neither 0 nor 1 is taken for a root.
std::vector<pid_t> processes_of_trees(const std::vector<pid_t>& roots);

// Whether none of their threads runs: each was stopped by a signal, or has ended. A thread that was
// told to stop goes on until the kernel has done what it asked for, such as an fsync.
bool are_stopped(const std::vector<pid_t>& processes);

// Stops these and all their descendants, also those that they start meanwhile. Returns true when all
// are_stopped(), and false if they are not within `patience`.
bool stop_trees(const std::vector<pid_t>& roots, std::chrono::nanoseconds patience);

// Sends the signal to these and all their descendants, and returns whom.
std::vector<pid_t> signal_trees(const std::vector<pid_t>& roots, int signal);

struct ProcessTreeUsage {
  double cpu_seconds = 0;         // of those that live, and of their children that have ended
  double living_cpu_seconds = 0;  // of the threads that live, in ns and not in ticks of 10 ms
  std::uint64_t wakeups = 0;      // how often they have waited
  std::uint64_t bytes = 0;        // resident; what they share counts once
  std::uint64_t processes = 0;
};

// Of these and all their descendants. Reads /proc once, which takes a millisecond or two.
ProcessTreeUsage usage_of_trees(const std::vector<pid_t>& roots);

// What the process and its children that have ended have written, to files, pipes and mapped files
// on a disk; 0 if the kernel does not tell. What is reserved without writing is not in it.
std::uint64_t bytes_written(pid_t process);

// Ends all descendants of this process, also those that start others all the time, and waits for them.
// REQUIRES: this process is the reaper of its descendants (PR_SET_CHILD_SUBREAPER).
void end_descendants();

}  // namespace timerbench
