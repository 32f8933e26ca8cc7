// The interface of a generator of traces: its options, the concept, and the roster of workloads.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "trace/trace.h"
#include "workloads/parameters.h"

namespace timerbench {

struct WorkloadOptions {
  TimerId size;             // timers pending or per second, connections: what a suite sweeps
  std::uint64_t items = 0;  // how many operations are measured, if free; 0: the default
  std::uint64_t seed = 1;
  Settings settings{};  // parameters that differ from their default
};

// A generator is a struct whose members are its parameters, with their defaults, and
//   static constexpr std::string_view name, summary, item;   what a cost is quoted per
//   static constexpr bool items_are_free;                    whether options.items is heeded
//   static constexpr double unit_ns;                         a tick, if not 1 ms; or
//   std::chrono::nanoseconds resolution;                     the same as a parameter
//   Parameters parameters();                                 those that can be set, by name
//   Trace generate(const WorkloadOptions&) const;            no I/O, no clock, no state
template <class G>
concept Generator = requires(const G& generator, G& own, const WorkloadOptions& options) {
  { G::name } -> std::convertible_to<std::string_view>;
  { G::summary } -> std::convertible_to<std::string_view>;
  { G::item } -> std::convertible_to<std::string_view>;
  { G::items_are_free } -> std::convertible_to<bool>;
  { own.parameters() } -> std::same_as<Parameters>;
  { generator.generate(options) } -> std::same_as<Trace>;
};

struct Workload {
  std::string_view name;
  std::string_view summary;
  std::string_view item;
  bool items_are_free;
  TimerId default_size;
  // Name, meaning and default of a parameter.
  struct Parameter {
    std::string_view name, meaning;
    std::string value;
  };
  std::vector<Parameter> parameters;
  std::function<void(const Settings&)> check;  // throws ParameterError
  // Throws ParameterError for settings that do not fit each other or the size.
  std::function<Trace(const WorkloadOptions&)> generate;
};

// Roughly how many bytes it takes to generate such a trace, compute its outcome and replay it.
constexpr std::uint64_t bytes_needed(const WorkloadOptions& options) {
  constexpr std::uint64_t kATimer = 150;  // the model's node and the largest backend's
  constexpr std::uint64_t kWindows = 4 * kWindowBytes;  // of the trace, however long it is
  return options.size * kATimer + kWindows;
}

// Every workload, in the order of every table and plot.
const std::vector<Workload>& workloads();

}  // namespace timerbench
