// timerbench trace: make, import, export and describe traces.
#include "trace/trace.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "commands/command.h"
#include "commands/names.h"
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

void add_generate(CLI::App& parent) {
  struct Options {
    std::string workload, out, size;
    std::uint64_t items = 0, seed = 1;
  };
  auto options = std::make_shared<Options>();
  auto* command = parent.add_subcommand("generate", "Write the trace of a workload");
  command->add_option("workload", options->workload, "One of 'timerbench list'")->required();
  command->add_option("out", options->out, "NAME: NAME.npy and NAME.json are written")->required();
  command->add_option("--size", options->size, "Population; none: the workload's default");
  add_items_option(*command, options->items, "Measured operations; 0: the workload's default");
  add_seed_option(*command, options->seed, "The same seed gives the same trace");
  command->callback([options] {
    const Workload& workload = find_workload(options->workload);
    const TimerId size = options->size.empty() ? workload.default_size : parse_size(options->size);
    const WorkloadOptions wanted{.size = size, .items = options->items, .seed = options->seed};
    require_memory(bytes_needed(wanted), fmt::format("size {}", size));
    TraceOutput output(options->out);
    const Trace trace = workload.generate(wanted);
    output.write(trace);
    print_saved(trace, options->out);
  });
}

void add_import(CLI::App& parent) {
  struct Options {
    std::string format, in, out, source;
    double hz = 0, unit_ns = 1e6;
  };
  auto options = std::make_shared<Options>();
  auto* command = parent.add_subcommand("import", "Turn a recording or a table into a trace");
  command->footer(
      "A CSV begins with the line at,op,id,delay; its rows are in order of `at`, the clock in "
      "ticks:\n"
      "  5,schedule,0,30   arm timer 0, or move it, to 35; ids are numbered from 0\n"
      "  7,cancel,0,       cancel it\n"
      "  9,advance,,       let time pass to 9, or with a delay so much further");
  command->add_option("--format", options->format, "ftrace: the kernel's timer events; csv")
      ->required()
      ->check(CLI::IsMember({"ftrace", "csv"}));
  command->add_option("in", options->in, "The file to read, for ftrace also .xz")->required();
  command->add_option("out", options->out, "NAME: NAME.npy and NAME.json are written")->required();
  command
      ->add_option("--hz", options->hz,
                   "ftrace: jiffies per second, where the header does not say CONFIG_HZ")
      ->check(in_range(1e-3, 1e9));
  command->add_option("--unit-ns", options->unit_ns, "csv: how long a tick is")
      ->capture_default_str()
      ->check(in_range(1e-3, 1e18));
  command->add_option("--source", options->source, "ftrace: what was recorded, for people");
  command->callback([options] {
    TraceOutput output(options->out);
    const Trace trace = options->format == "csv"
                            ? import_csv(options->in, options->unit_ns)
                            : import_ftrace(options->in, {options->hz, options->source});
    output.write(trace);
    print_saved(trace, options->out);
    for (const auto& warning : trace.info().parameters.value("warnings", nlohmann::json::array())) {
      fmt::print(stderr, "timerbench: warning: {}\n", warning.get<std::string>());
    }
  });
}

void add_export(CLI::App& parent) {
  struct Options {
    std::string format, in, out;
  };
  auto options = std::make_shared<Options>();
  auto* command = parent.add_subcommand("export", "Write a trace in a form that people read");
  command->add_option("--format", options->format, "csv: at,op,id,delay")
      ->required()
      ->check(CLI::IsMember({"csv"}));
  command->add_option("in", options->in, "NAME, NAME.npy or NAME.json")->required();
  command->add_option("out", options->out, "The file to write")->required();
  command->callback([options] { export_csv(Trace::load(options->in), options->out); });
}

void add_stat(CLI::App& parent) {
  auto path = std::make_shared<std::string>();
  auto* command = parent.add_subcommand("stat", "What a trace consists of");
  command->add_option("trace", *path, "NAME, NAME.npy or NAME.json")->required();
  command->callback([path] {
    const Trace trace = load_trace(*path);
    fmt::print("{}", to_text(stat_trace(trace), trace.info()));
  });
}

}  // namespace

void add_trace(CLI::App& app) {
  auto* command = app.add_subcommand("trace", "Make, import, export and describe traces");
  command->require_subcommand(1);
  add_generate(*command);
  add_import(*command);
  add_export(*command);
  add_stat(*command);
}

}  // namespace timerbench
