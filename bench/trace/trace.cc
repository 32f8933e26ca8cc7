#include "trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "system/machine.h"
#include "system/stop.h"
#include "trace/model.h"

namespace timerbench {

Trace::Trace(TraceInfo info, std::vector<Op> ops) : info_(std::move(info)) {
  if (!(info_.unit_ns > 0)) throw TraceError("a tick must last longer than 0 ns");
  check_ids(ops, info_.capacity, info_.workload);
  if (info_.setup_ops > ops.size()) {
    throw TraceError(fmt::format("{}: {} setup operations, but only {} in all", info_.workload,
                                 info_.setup_ops, ops.size()));
  }
  const auto owned = std::make_shared<const std::vector<Op>>(std::move(ops));
  ops_ = *owned;
  storage_ = owned;
}

OpCounts count_ops(std::span<const Op> ops) {
  OpCounts counts;
  for (const Op op : ops) {
    if (op.id == kAdvance) {
      ++counts.advances;
    } else if (op.arg == kCancel) {
      ++counts.cancels;
    } else {
      ++counts.schedules;
    }
  }
  return counts;
}

std::uint64_t hash_ops(std::span<const Op> ops) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const Op op : ops) {
    hash ^= std::uint64_t{op.arg} << 32 | op.id;
    hash *= 0x100000001b3;
  }
  return hash;
}

void check_ids(std::span<const Op> ops, TimerId capacity, const std::string& where) {
  const auto misfit = std::ranges::find_if(
      ops, [capacity](const Op op) { return op.id >= capacity && op.id != kAdvance; });
  if (misfit == ops.end()) return;
  throw TraceError(
      fmt::format("{}: operation {} (of {}): id {} is not below the capacity {}; raise "
                  "the capacity, or the operations are damaged",
                  where, misfit - ops.begin(), ops.size(), misfit->id, capacity));
}

std::uint64_t peak_pending(std::span<const Op> ops, TimerId capacity,
                           const std::string& where) try {
  require_memory(capacity * sizeof(Tick), where);
  Model model({.capacity = capacity});
  Tick now = 0;
  std::size_t peak = 0;
  for (const Op op : ops) {
    throw_if_interrupted();
    if (op.id == kAdvance) {
      model.advance(now += op.arg, IgnoreExpiry{});
    } else if (op.arg == kCancel) {
      model.cancel(op.id);
    } else {
      model.schedule(op.id, now + op.arg);
      peak = std::max(peak, model.size());
    }
  }
  return peak;
} catch (const std::bad_alloc&) {
  throw TraceError(
      fmt::format("{}: no memory for ids up to {}: number them from 0", where, capacity));
}

}  // namespace timerbench
