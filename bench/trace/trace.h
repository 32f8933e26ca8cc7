// A trace: a list of timer operations, and what is known about it.
//
// On disk a trace is a NumPy structured array, NAME.npy, of dtype [('id', '<u4'), ('arg', '<u4')],
// and TraceInfo in NAME.json beside it. The operations are mapped, not loaded, and read in windows,
// so a trace of 10^8 operations takes no more memory than one of 10^6.
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

// The most ids of a trace. Every backend can number this many in 32 bits, with room for its own
// ids.
inline constexpr TimerId kMostIds = 1'000'000'000;

// Bad input. The text is one line: what, where, and what to do.
struct TraceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct TraceInfo {
  double unit_ns = 1e6;         // the length of a tick
  TimerId capacity = 0;         // every id is below it
  std::uint64_t setup_ops = 0;  // the first operations, which prepare and are not measured
  std::string item = "op";      // the unit of costs: "cancel", "fire", "pair"
  std::uint64_t items = 0;      // how many units the measured operations contain
  std::uint64_t peak_pending = 0;
  std::string workload{};  // the generator, or the kind of recording
  // The parameters of the generator or the import: a JSON object as text, so that users of traces
  // need no JSON library.
  std::string parameters = "{}";
  std::uint64_t seed = 0;  // 0: nothing is random
  std::string source{};    // where it comes from, for people
  // The outcomes that the whole trace and its setup alone must have, if already computed.
  std::optional<Outcome> outcome{};
  std::optional<Outcome> setup_outcome{};
};

// Counts of a list of operations.
struct OpCounts {
  std::uint64_t schedules = 0;
  std::uint64_t cancels = 0;
  std::uint64_t advances = 0;

  std::uint64_t timer_ops() const { return schedules + cancels; }
};
OpCounts count_ops(std::span<const Op> ops);

// XXH3 (64 bits, seed 0) of the operations as NAME.npy stores them.
std::uint64_t hash_ops(std::span<const Op> ops);

// Throws TraceError if an operation's id is neither below `capacity` nor kAdvance; the text names
// the first one. O(ops).
void check_ids(std::span<const Op> ops, TimerId capacity, const std::string& where);

// The most timers that are pending at once, by the model. REQUIRES: the ids are checked. O(ops log
// n). Throws Interrupted. Throws OutOfMemory or TraceError, which name `where`, if the memory does
// not suffice for the capacity.
std::uint64_t peak_pending(std::span<const Op> ops, TimerId capacity, const std::string& where);

// Owns its operations, in memory or in a mapped file. Movable.
class Trace {
 public:
  // Both throw TraceError if an id, setup_ops or unit_ns is out of range.
  Trace(TraceInfo info, StoredOps ops);
  Trace(TraceInfo info, std::vector<Op> ops);

  // Maps NAME.npy and reads NAME.json; `path` is NAME with either suffix or none. The .json needs
  // only version, unit_ns and capacity. If items (schedules + cancels) or peak_pending is absent,
  // it is computed. The counts and the hash are checked if present; the format and the ids always.
  // O(ops). Throws TraceError.
  static Trace load(const std::filesystem::path& path);

  // Writes NAME.npy and NAME.json; see TraceOutput.
  void save(const std::filesystem::path& path) const;

  const TraceInfo& info() const { return info_; }
  void set_outcome(const Outcome& outcome) { info_.outcome = outcome; }
  void set_setup_outcome(const Outcome& outcome) { info_.setup_outcome = outcome; }
  std::span<const Op> ops() const { return ops_; }
  std::span<const Op> setup() const { return ops_.first(info_.setup_ops); }
  std::span<const Op> measured() const { return ops_.subspan(info_.setup_ops); }

 private:
  Trace() = default;

  TraceInfo info_;
  std::shared_ptr<const void> storage_;  // keeps ops_ alive
  std::span<const Op> ops_;
};

// The two files of a trace. Each gets a temporary name and is renamed when complete, the .json
// last. Open it before making the trace, so that a bad place is found first. Every failure throws
// FileError (folder not writable, disk full) and leaves nothing behind.
class TraceOutput {
 public:
  explicit TraceOutput(const std::filesystem::path& path);

  // REQUIRES: called once.
  void write(const Trace& trace);

 private:
  OutputFile npy_;
  OutputFile sidecar_;
};

}  // namespace timerbench
