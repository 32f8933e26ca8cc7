#include "suites/trace_cache.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <optional>
#include <utility>

#include "system/stop.h"
#include "verify/check.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;

// Unique to a trace; the hash includes the generators' sources.
std::string name_of(const Workload& workload, const WorkloadOptions& options) {
  std::string all = fmt::format("{} {} {} {} {}", TIMERBENCH_GENERATORS, workload.name,
                                options.size, options.items, options.seed);
  for (const auto& [name, value] : options.settings) all += fmt::format(" {}={}", name, value);
  return fmt::format("{}-{}-{:016x}", workload.name, options.size,
                     XXH3_64bits(all.data(), all.size()));
}

std::optional<Trace> load(const fs::path& path) try {
  if (!fs::exists(path.string() + ".json")) return {};
  Trace trace = Trace::load(path);
  if (!trace.info().outcome || !trace.info().setup_outcome) return {};
  return trace;
} catch (const TraceError&) {
  return {};  // damaged
}

}  // namespace

void compute_expected_outcome(Trace& trace) {
  if (trace.info().outcome && trace.info().setup_outcome) return;
  const ExpectedOutcome outcome = expected_outcome(trace, interrupted());
  throw_if_interrupted();
  trace.set_outcome(outcome.whole);
  trace.set_setup_outcome(outcome.setup);
}

Trace TraceCache::get(const Workload& workload, const WorkloadOptions& options) const {
  if (folder_.empty()) {
    Trace trace = workload.generate(options);
    compute_expected_outcome(trace);
    return trace;
  }
  const fs::path path = folder_ / name_of(workload, options);
  if (auto trace = load(path)) return *std::move(trace);
  fs::create_directories(folder_);
  {
    Trace trace = workload.generate(options);
    compute_expected_outcome(trace);
    trace.save(path);
  }
  return Trace::load(path);
}

}  // namespace timerbench
