#include "trace/trace.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "system/machine.h"
#include "system/stop.h"
#include "trace/model.h"

namespace timerbench {

Trace::Trace(TraceInfo info, StoredOps ops)
    : info_(std::move(info)), storage_(std::move(ops.storage)), ops_(ops.ops) {
  if (!(info_.unit_ns > 0)) throw TraceError("a tick must last longer than 0 ns");
  check_ids(ops_, info_.capacity, info_.workload);
  if (info_.setup_ops > ops_.size()) {
    throw TraceError(fmt::format("{}: {} setup operations, but only {} in all", info_.workload,
                                 info_.setup_ops, ops_.size()));
  }
}

Trace::Trace(TraceInfo info, std::vector<Op> ops)
    : Trace(std::move(info), [&ops]() -> StoredOps {
        const auto owned = std::make_shared<const std::vector<Op>>(std::move(ops));
        return {owned, *owned};
      }()) {}

OpCounts count_ops(std::span<const Op> ops) {
  OpCounts counts;
  for_each_window(ops, [&counts](std::span<const Op> window) {
    for (const Op op : window) {
      if (op.id == kAdvance) {
        ++counts.advances;
      } else if (op.arg == kCancel) {
        ++counts.cancels;
      } else {
        ++counts.schedules;
      }
    }
  });
  return counts;
}

std::uint64_t hash_ops(std::span<const Op> ops) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       XXH3_freeState);
  if (!state) throw std::bad_alloc();
  XXH3_64bits_reset(state.get());
  for_each_window(ops, [&state](std::span<const Op> window) {
    XXH3_64bits_update(state.get(), window.data(), window.size_bytes());
  });
  return XXH3_64bits_digest(state.get());
}

void check_ids(std::span<const Op> ops, TimerId capacity, const std::string& where) {
  for_each_window(ops, [&](std::span<const Op> window) {
    const auto misfit = std::ranges::find_if(
        window, [capacity](const Op op) { return op.id >= capacity && op.id != kAdvance; });
    if (misfit == window.end()) return;
    throw TraceError(
        fmt::format("{}: operation {} (of {}): id {} is not below the capacity {}; raise "
                    "the capacity, or the operations are damaged",
                    where, &*misfit - ops.data(), ops.size(), misfit->id, capacity));
  });
}

std::uint64_t peak_pending(std::span<const Op> ops, TimerId capacity,
                           const std::string& where) try {
  require_memory(capacity * sizeof(Tick), where);
  Model model({.capacity = capacity});
  Tick now = 0;
  std::size_t peak = 0;
  for_each_window(ops, [&](std::span<const Op> window) {
    for (const Op op : window) {
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
  });
  return peak;
} catch (const std::bad_alloc&) {
  throw TraceError(
      fmt::format("{}: no memory for ids up to {}: number them from 0", where, capacity));
}

}  // namespace timerbench
