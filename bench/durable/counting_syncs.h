// Counts the calls by which a program has the system write to the disk: fsync(), fdatasync(), msync()
// that waits, syncfs() and sync(). counting_syncs.cc defines them anew, so all calls of this program
// and of the libraries that it is linked with are counted, 20 ns each. As a library of its own, named
// in LD_PRELOAD, it counts those of another program, unless that is linked statically or makes the
// system calls itself.
//
// Not counted: sync_file_range(), which keeps nothing safe; files that are opened with O_SYNC.
#pragma once

#include <atomic>
#include <cstdint>

namespace timerbench {

using SyncCount = std::atomic<std::uint64_t>;
static_assert(SyncCount::is_always_lock_free);  // processes share it

// Names a file of a SyncCount, where a program with the library counts from its start on.
inline constexpr const char* kSyncsVariable = "TIMERBENCH_SYNCS";

// Where this process counts; null: nowhere.
extern std::atomic<SyncCount*> sync_count;

}  // namespace timerbench
