// A trace: a list of timer operations, and what it is a trace of.
//
// On disk it is a NumPy structured array, NAME.npy, of dtype [('id', '<u4'), ('arg', '<u4')], with
// NAME.json beside it, which is TraceInfo. The operations are mapped, not loaded, and one of 10^8
// takes no more of the memory than one of 10^6: all that goes through them does so in windows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "system/output_file.h"
#include "trace/op.h"
#include "trace/op_store.h"
#include "trace/outcome.h"

namespace timerbench {

inline constexpr int kTraceVersion = 1;

// The most ids that a trace may have, which every backend can number in 32 bits with room for its
// own.
inline constexpr TimerId kMostIds = 1'000'000'000;

// Bad input: the text is one line that says what, where and what to do.
struct TraceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct TraceInfo {
  double unit_ns = 1e6;         // how long a tick is
  TimerId capacity = 0;         // every id is below it
  std::uint64_t setup_ops = 0;  // the first so many operations prepare and are not measured
  std::string item = "op";      // what a cost is quoted per: "cancel", "fire", "pair"
  std::uint64_t items = 0;      // how many of those the measured operations contain
  std::uint64_t peak_pending = 0;
  std::string workload{};  // generator or kind of recording
  // Of the generator or the import: a JSON object, as text, so that who needs a trace needs no JSON.
  std::string parameters = "{}";
  std::uint64_t seed = 0;            // 0: nothing random
  std::string source{};              // where it comes from, for people
  std::optional<Outcome> outcome{};  // what it must come to, if whoever made it has worked that out
};

// Counts of a list of operations.
struct OpCounts {
  std::uint64_t schedules = 0;
  std::uint64_t cancels = 0;
  std::uint64_t advances = 0;

  std::uint64_t timer_ops() const { return schedules + cancels; }
};
OpCounts count_ops(std::span<const Op> ops);

// XXH3 (64 bits, seed 0) of the operations as they stand in NAME.npy.
std::uint64_t hash_ops(std::span<const Op> ops);

// Throws TraceError, naming the first operation that does not fit: an id that is neither below
// `capacity` nor kAdvance. O(ops).
void check_ids(std::span<const Op> ops, TimerId capacity, const std::string& where);

// The most timers that are ever pending at once, by the model. REQUIRES: the ids are checked.
// O(ops log n). Throws Interrupted, and OutOfMemory or TraceError, which name `where`, if there is
// no memory for that capacity.
std::uint64_t peak_pending(std::span<const Op> ops, TimerId capacity, const std::string& where);

// Owns its operations, in memory or as a mapped file. Movable.
class Trace {
 public:
  // Both throw TraceError if an id, setup_ops or unit_ns does not fit.
  Trace(TraceInfo info, StoredOps ops);
  Trace(TraceInfo info, std::vector<Op> ops);

  // Maps NAME.npy and reads NAME.json; `path` names either, or neither suffix. Of the .json only
  // version, unit_ns and capacity are required. What is absent of items (schedules + cancels) and
  // peak_pending is counted; the counts and the hash are checked where present; the format and the
  // ids always. O(ops). Throws TraceError.
  static Trace load(const std::filesystem::path& path);

  // Writes NAME.npy and NAME.json; see TraceOutput.
  void save(const std::filesystem::path& path) const;

  const TraceInfo& info() const { return info_; }
  void set_outcome(const Outcome& outcome) { info_.outcome = outcome; }
  std::span<const Op> ops() const { return ops_; }
  std::span<const Op> setup() const { return ops_.first(info_.setup_ops); }
  std::span<const Op> measured() const { return ops_.subspan(info_.setup_ops); }

 private:
  Trace() = default;

  TraceInfo info_;
  std::shared_ptr<const void> storage_;  // keeps ops_ alive
  std::span<const Op> ops_;
};

// The two files of a trace, each written to a temporary one that is renamed when complete, the
// .json last. Opened before the trace is made, so that a bad place is found first. Everything
// throws FileError (folder not writable, disk full) and leaves nothing behind.
class TraceOutput {
 public:
  explicit TraceOutput(const std::filesystem::path& path);

  // Once.
  void write(const Trace& trace);

 private:
  OutputFile npy_;
  OutputFile sidecar_;
};

}  // namespace timerbench
