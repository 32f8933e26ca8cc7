// An append-only file of records that survives kill -9 and power cuts: what commit() has returned for
// is there when the file is opened again.
//
// A record is its length, a checksum and its bytes. Callers append records to a buffer in memory, in
// the order of their changes, and then wait in commit() until theirs are on the disk. The first that
// waits writes the buffer and synchronises the file for all who have appended by then (group commit);
// if it waits `gather` before that, more can join. So n threads share one synchronisation, which is
// what costs: 0.1 to 10 ms on a disk, and the rest of an append takes 0.1 us.
//
// On opening, all is cut off from the first record that is not whole and undamaged. If that is the
// beginning of one record, a crash has interrupted its write, so it was never committed, and nobody
// is told. All else is damage: what was committed may be in it. It is put aside, in a new file
// NAME.damaged.1, .2 and so on, and damage() tells it. After a power cut this may be a false alarm:
// pages reach the disk in any order, so a record that was never committed may be whole behind one
// that is not. Damage to the length of the last record is taken for an interrupted write.
//
// A file that ends within its first line, as after a crash in its creation, is a new one.
//
// A full disk loses nothing: what was written of the buffer is cut off, the buffer stays, and the
// next commit() tries again. After a failed synchronisation nothing more is accepted, for the kernel
// does not say what it has dropped (Rebello et al., "Can Applications Recover from fsync
// Failures?", ATC 2020); the file must be opened again. Opening reads what is on the disk: what the
// kernel has of the file in memory may be what it could not write.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/backend_error.h"

namespace timerbench {

class Journal {
 public:
  using Visit = std::function<void(std::string_view record)>;

  // Opens the file, or creates it, and hands each of its records to `visit`. Throws
  // BackendUnavailable if it cannot be opened, if another process has it open, or if there is no
  // room to put aside what is damaged. O(bytes).
  Journal(std::filesystem::path path, std::chrono::microseconds gather, const Visit& visit);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // The place behind the records so far. commit() waits until the file has all before it.
  using Place = std::uint64_t;

  // Appends a record in memory. Throws BackendError if the last commit failed and fails once more,
  // and std::invalid_argument if the record is longer than kLongestRecord.
  Place append(std::string_view record);
  // The place behind what was appended last.
  Place end() const;

  static constexpr std::size_t kHeadBytes = 8;             // of each record, beside its own bytes
  static constexpr std::size_t kLongestRecord = 16 << 20;  // a longer one is damaged

  // Returns when all records before `place` are on the disk. Any thread may call it. Throws
  // BackendError.
  void commit(Place place);

  // Throws BackendError if a synchronisation has failed: what is on the disk is not known then, and it
  // takes nothing more.
  void throw_if_broken() const;

  // Replaces all records by those that `write` appends, in one step: whenever the power fails, the
  // file has either the old ones or the new ones. Whatever was appended before is committed by it.
  // REQUIRES: nobody appends meanwhile. Throws BackendError; then the old records stay.
  void rewrite(const std::function<void(const Visit& append)>& write);

  // What was cut off as damaged, in a line for the user; empty if nothing was.
  const std::string& damage() const { return damage_; }

  // Of all records.
  std::uint64_t bytes() const;
  std::uint64_t unwritten_bytes() const;
  std::uint64_t synchronisations() const;

 private:
  void lock_file();
  void replay(const Visit& visit);
  std::filesystem::path put_aside(std::uint64_t begin) const;
  void write_and_synchronise(std::unique_lock<std::mutex>& lock);
  [[noreturn]] void fail(std::string_view what, int error) const;

  const std::filesystem::path path_;
  const std::chrono::microseconds gather_;
  int file_ = -1;
  std::string damage_;

  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable committed_;
  bool is_committing_ = false;
  bool is_broken_ = false;            // a synchronisation has failed
  std::optional<std::string> error_;  // of the last commit
  std::string buffer_;                // appended, not yet written
  std::uint64_t file_bytes_ = 0;      // written and synchronised
  Place appended_ = 0;
  Place on_disk_ = 0;
  std::uint64_t synchronisations_ = 0;
};

}  // namespace timerbench
