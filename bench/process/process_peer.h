// Another program that replays traces: a contender in any language.
//
// docs/processes.md is the protocol. `COMMAND describe` tells what it is, and `COMMAND replay TRACE...`
// replays traces and tells how long each replay took. Each call is a process of its own, which is ended
// with all that it started. Its failures are ProgramFailure; the text begins with a status.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/timer_queue.h"
#include "system/stop.h"
#include "system/supervised_program.h"
#include "trace/trace.h"

namespace timerbench {

// What a process tells of one replay.
struct ToldReplay {
  std::uint64_t elapsed_ns;  // of the measured operations
  std::uint64_t fired;       // this and the others are of all operations, setup included
  std::uint64_t cancelled;
  std::uint64_t pending;
};

// A fire that a process wrote.
struct WrittenFire {
  Tick now;
  TimerId id;
  Tick deadline;
};

class ProcessPeer {
 public:
  // `command` is for the shell, as `java -cp peers Heap`. It is asked to describe itself; a text that
  // it gave before may be handed over instead. Throws ProgramFailure and Interrupted.
  explicit ProcessPeer(std::string command);
  ProcessPeer(std::string command, const std::string& description);

  ProcessPeer(const ProcessPeer&) = delete;  // its traits refer to it
  ProcessPeer& operator=(const ProcessPeer&) = delete;

  const std::string& command() const { return command_; }
  // What it consists of beside the files that the command names.
  const std::vector<std::string>& files() const { return files_; }
  // They are valid as long as this object.
  Traits traits() const;

  using Seconds = std::chrono::duration<double>;

  // Replays the traces in turn until `time` has passed, each at least once, and three in all. Returns
  // what the process tells of each replay, in order. A replay may take `limit`. Throws ProgramFailure,
  // Interrupted, FileError.
  std::vector<ToldReplay> replay(std::span<const Trace> traces, Tick granularity, Seconds time,
                                 Seconds limit, const StopFlag& stop) const;

  struct Recording {
    ToldReplay told;
    std::vector<WrittenFire> fires;  // in the order of the file
  };

  // Replays the trace once, and lets the process write each fire. Throws the same.
  Recording record(const Trace& trace, Tick granularity, const StopFlag& stop) const;

 private:
  void describe(const std::string& text);

  // What a process must keep to, beyond the protocol.
  struct Bounds {
    std::size_t least_replays;
    Seconds longest_replay;
    Seconds silence;    // without a line of output
    Seconds until_end;  // after the least replays
    std::uint64_t file_bytes;
  };
  std::vector<ToldReplay> run(const std::vector<std::string>& arguments, const Bounds& bounds,
                              const StopFlag& stop) const;

  std::string command_;
  std::string name_, summary_, version_;
  Precision precision_{};
  bool ordered_ = false;
  bool walks_ticks_ = false;
  std::vector<std::string> files_;
};

}  // namespace timerbench
