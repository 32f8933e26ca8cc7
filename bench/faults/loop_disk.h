// A small disk whose power can be cut: an ext4 file system in a file, on a loop device.
//
// The loop device writes to the file by direct I/O, so the file holds what has reached the disk and
// nothing of what waits in memory. A copy of it is what a machine finds after a power cut.
//
// It is mounted in a mount namespace of this process: nobody else sees it, and it is gone when this
// process and its children have ended, however they end.
//
// Needs root, loop devices, and mkfs.ext4.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "system/temporary_folder.h"

namespace timerbench {

class LoopDisk {
 public:
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;

  // Why this process cannot have one; empty if it can.
  static std::string unavailable();

  // Throws BackendUnavailable. The process has its own mounts from now on.
  LoopDisk();
  ~LoopDisk();
  LoopDisk(const LoopDisk&) = delete;
  LoopDisk& operator=(const LoopDisk&) = delete;

  // Where it is mounted. Any user may pass through.
  std::filesystem::path path() const { return folder_ / "disk"; }

  // Returns when all that was written has reached the disk.
  void synchronise();

  // Puts back what has reached the disk at the time of the call. Whoever has files open keeps those
  // of the disk as it was, and what they write is lost. REQUIRES: nobody writes meanwhile.
  void cut_power();

  std::uint64_t free_bytes() const;

  // Takes all space that is free, and gives it back.
  void fill();
  void empty();

 private:
  void mount();

  TemporaryFolder folder_;
  std::filesystem::path image_;
  int cuts_ = 0;
};

}  // namespace timerbench
