// A trace: a list of timer operations, and what it is a trace of.
//
// On disk it is a NumPy structured array, NAME.npy, of dtype [('id', '<u4'), ('arg', '<u4')], with
// NAME.json beside it, which is TraceInfo. The operations are mapped, not loaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "trace/op.h"

namespace timerbench {

inline constexpr int kTraceVersion = 1;

// Bad input: the text is one line that says what, where and what to do.
struct TraceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct TraceInfo {
  double unit_ns = 1e6;           // how long a tick is
  TimerId capacity = 0;           // every id is below it
  std::uint64_t setup_ops = 0;    // the first so many operations prepare and are not measured
  std::string item = "op";        // what a cost is quoted per: "cancel", "fire", "pair"
  std::uint64_t items = 0;        // how many of those the measured operations contain
  std::uint64_t peak_pending = 0;
  std::string workload;           // generator or kind of recording
  nlohmann::json parameters = nlohmann::json::object();  // of the generator or the import
  std::uint64_t seed = 0;         // 0: nothing random
  std::string source;             // where it comes from, for people
};

// Counts of a list of operations.
struct OpCounts {
  std::uint64_t schedules = 0;
  std::uint64_t cancels = 0;
  std::uint64_t advances = 0;
};
OpCounts count_ops(std::span<const Op> ops);

// 64-bit FNV-1a over the operations, each taken as one little-endian 64-bit word.
std::uint64_t hash_ops(std::span<const Op> ops);

// Throws TraceError, naming the first operation that does not fit: an id that is neither below
// `capacity` nor kAdvance. O(ops).
void check_ids(std::span<const Op> ops, TimerId capacity, const std::string& where);

// Owns its operations, in memory or as a mapped file. Movable.
class Trace {
 public:
  Trace(TraceInfo info, std::vector<Op> ops);

  // Maps NAME.npy and reads NAME.json; `path` names either, or neither suffix. Checks the format,
  // the ids, the counts and the hash (one sequential read). Throws TraceError.
  static Trace load(const std::filesystem::path& path);

  // Writes NAME.npy and NAME.json, each to a temporary file that is renamed when complete, the .json
  // last. Throws TraceError (folder not writable, disk full) and leaves nothing behind.
  void save(const std::filesystem::path& path) const;

  const TraceInfo& info() const { return info_; }
  std::span<const Op> ops() const { return ops_; }
  std::span<const Op> setup() const { return ops_.first(info_.setup_ops); }
  std::span<const Op> measured() const { return ops_.subspan(info_.setup_ops); }

 private:
  Trace() = default;

  TraceInfo info_;
  std::shared_ptr<const void> storage_;  // keeps ops_ alive
  std::span<const Op> ops_;
};

}  // namespace timerbench
