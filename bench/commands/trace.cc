// timerbench trace: makes, imports, exports and describes traces.
#include "trace/trace.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "commands/names.h"
#include "suites/trace_cache.h"
#include "system/machine.h"
#include "trace/csv.h"
#include "trace/ftrace.h"
#include "trace/stat.h"
#include "workloads/workload.h"

namespace timerbench {
namespace {

void print_saved(const Trace& trace, const std::string& path) {
  fmt::print("{}: {} operations, {} ids, at most {} pending\n", path, trace.ops().size(),
             trace.info().capacity, trace.info().peak_pending);
}

}  // namespace

void generate_trace(const GenerateOptions& options) {
  const Workload& workload = find_workload(options.workload);
  const TimerId size = options.size.empty() ? workload.default_size : parse_size(options.size);
  const WorkloadOptions wanted{.size = size,
                               .items = options.items,
                               .seed = options.seed,
                               .settings = parse_settings(options.settings)};
  workload.check(wanted.settings);
  require_memory(bytes_needed(wanted), fmt::format("size {}", size));
  TraceOutput output(options.out);
  Trace trace = workload.generate(wanted);
  compute_expected_outcome(trace);
  output.write(trace);
  print_saved(trace, options.out);
}

void import_trace(const ImportOptions& options) {
  TraceOutput output(options.out);
  Trace trace = options.format == "csv" ? import_csv(options.in, options.unit_ns)
                                        : import_ftrace(options.in, {options.hz, options.source});
  compute_expected_outcome(trace);
  output.write(trace);
  print_saved(trace, options.out);
  const auto parameters = nlohmann::json::parse(trace.info().parameters);
  for (const auto& warning : parameters.value("warnings", nlohmann::json::array())) {
    fmt::print(stderr, "timerbench: warning: {}\n", warning.get<std::string>());
  }
}

void export_trace(const std::string& in, const std::string& out) {
  export_csv(Trace::load(in), out);
}

void describe_trace(const std::string& path) {
  const Trace trace = load_trace(path);
  fmt::print("{}", to_text(stat_trace(trace), trace.info()));
}

}  // namespace timerbench
