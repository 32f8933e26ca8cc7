// Writes the operations of a generated trace and keeps what its description needs.
#pragma once

#include <nlohmann/json.hpp>

#include "system/stop.h"
#include "trace/trace.h"
#include "workloads/workload.h"

namespace timerbench {

inline constexpr std::chrono::nanoseconds kDefaultResolution = std::chrono::milliseconds(1);
inline constexpr std::string_view kMeaningOfResolution = "length of a tick";

// The generator keeps the clock; pass_time() moves it in the trace.
class TraceWriter {
 public:
  // A tick is 1 ms unless G::unit_ns or the parameter `resolution` says otherwise. Throws
  // ParameterError.
  template <Generator G>
  TraceWriter(G generator, const WorkloadOptions& options) {
    info_.unit_ns = 1e6;
    if constexpr (requires { G::unit_ns; }) info_.unit_ns = G::unit_ns;
    if constexpr (requires { generator.resolution; }) {
      if (generator.resolution.count() == 0) throw ParameterError("resolution: at least 1ns");
      info_.unit_ns = static_cast<double>(generator.resolution.count());
    }
    info_.capacity = options.size;
    info_.item = G::item;
    info_.workload = G::name;
    info_.seed = options.seed;
    info_.source = "generated";
    note("size", options.size);
    for (const Parameter& one : generator.parameters()) note(one.name(), one.text());
  }

  // These throw Interrupted.
  void schedule(TimerId id, std::uint32_t delay) { write(schedule_op(id, delay)); }
  void cancel(TimerId id) { write(cancel_op(id)); }
  void pass_time(Tick ticks) {
    for (; ticks > kMaxStep; ticks -= kMaxStep) write(advance_op(kMaxStep));
    write(advance_op(static_cast<std::uint32_t>(ticks)));
  }

  // The operations so far are setup and are not measured.
  void end_setup() { info_.setup_ops = ops_.size(); }

  // A duration or distribution in ticks. They throw ParameterError.
  DelaySampler sampler(const Delays& delays) const { return DelaySampler(delays, info_.unit_ns); }
  std::uint32_t ticks(std::chrono::nanoseconds duration) const {
    Random unused(0);
    return DelaySampler(Delays("constant " + to_text(duration)), info_.unit_ns)(unused);
  }

  // Adds an entry to the description, beside the parameters.
  template <class T>
  void note(std::string_view parameter, const T& value) {
    parameters_[parameter] = value;
  }

  // The number of ids, if it is not the size.
  void set_capacity(TimerId capacity) { info_.capacity = capacity; }

  // `items`: how many of what a cost is quoted per.
  Trace finish(std::uint64_t items, std::uint64_t peak_pending) {
    info_.items = items;
    info_.peak_pending = peak_pending;
    note("items", items);
    info_.parameters = parameters_.dump();
    return Trace(std::move(info_), ops_.finish());
  }

 private:
  static constexpr Tick kMaxStep = ~std::uint32_t{0};

  void write(Op op) {
    throw_if_interrupted();
    ops_.push_back(op);
  }

  TraceInfo info_;
  nlohmann::json parameters_;
  OpStore ops_;
};

}  // namespace timerbench
