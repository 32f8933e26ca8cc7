// How often this process, those that it forks, and programs that it starts have the system write to
// the disk.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "durable/counting_syncs.h"
#include "system/temporary_folder.h"

namespace timerbench {

// Whether a program is one of Go, which does not call the C library for them.
bool makes_own_system_calls(const std::filesystem::path& program);

// One at a time.
class SyncCounter {
 public:
  // Throws FileError.
  SyncCounter();
  ~SyncCounter();
  SyncCounter(const SyncCounter&) = delete;
  SyncCounter& operator=(const SyncCounter&) = delete;

  // Programs that `start` starts are counted too. REQUIRES: this process has one thread.
  void also_of(const std::function<void()>& start) const;

  // Whether all of these processes that live are counted. False if one is linked statically, or of a
  // language that makes the system calls itself.
  bool counts(const std::vector<pid_t>& processes) const;

  std::uint64_t count() const { return count_->load(); }

 private:
  // Other users' programs, such as a server, read it.
  const TemporaryFolder folder_{"timerbench-syncs"};
  const std::filesystem::path library_ = folder_ / "counting_syncs.so";
  const std::filesystem::path file_ = folder_ / "count";
  SyncCount* count_;
};

}  // namespace timerbench
