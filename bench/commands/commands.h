// The commands of the program and their options; command_line.cc parses the command line.
//
// Each command throws UsageError for a request that cannot be met, CommandFailed after it has
// printed what went wrong, and the errors of what it uses, whose texts are one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/timer_queue.h"
#include "verify/audited_queue.h"

namespace timerbench {

// Prints backends with their precision, workloads and suites, as text or JSON.
void print_list(bool as_json);

// Prints whether this machine is fit for measuring, as text or JSON. Takes a second.
void examine_machine(bool as_json);

// Prints how long memory accesses, clock reads and sleeps take on this machine.
void print_limits(bool as_json);

// The options of the suite `purgatory`; the defaults are those of its scenario `low`.
struct PurgatoryOptions {
  std::optional<std::uint32_t> num, timeout, keys, key_space_size;
  std::optional<double> rate, pct50, pct75;

  bool any() const { return num || timeout || keys || key_space_size || rate || pct50 || pct75; }
};

struct RunOptions {
  std::string suite;                               // empty: the other options choose
  std::vector<std::string> processes;              // commands of other programs, always chosen
  std::string backends, workloads, sizes, traces;  // separated by commas
  std::vector<std::string> settings;               // NAME=VALUE, parameters of the workloads
  Tick granularity = 1;
  std::uint64_t items = 0;
  std::uint64_t seed = 1;
  std::string cache;           // the folder that keeps traces; empty: none are kept
  double replay_seconds = 0;   // 0: the suite's
  std::string pages;           // "4k" or "2m"; empty: the system's
  std::string pass = "total";  // or tails, memory, once
  double slow_down = 0;        // percent by which every replay is lengthened
  bool verified = false;       // the caller has verified the contenders
  double seconds = 0;          // of each cell on the wall clock; 0: the suite's
  PurgatoryOptions purgatory;
  std::vector<std::string> benchmark_flags;  // Google Benchmark's
};
void run_suite(const RunOptions& options);

// Makes the traces that such a run needs. Prints a line of JSON for the run and one for each input,
// for programs that run the cells one by one.
void prepare_suite(const RunOptions& options);

struct VerifyOptions {
  std::vector<std::string> names;      // of backends and services; empty: all
  std::vector<std::string> processes;  // commands of other programs; if given, no names mean none
  double seconds = 1;
  std::uint64_t seed = 1;
  std::string trace;      // the trace that backends replay; empty: all checks
  Conditions conditions;  // of the replay of `trace`
};
void verify_contenders(VerifyOptions options);

struct ReplayOptions {
  std::string trace;
  std::string backend;
  std::string fired;  // the file for the fires; empty: none
  Tick granularity = 1;
};
void replay_trace(const ReplayOptions& options);

struct GenerateOptions {
  std::string workload, out, size;
  std::vector<std::string> settings;  // NAME=VALUE
  std::uint64_t items = 0;
  std::uint64_t seed = 1;
};
void generate_trace(const GenerateOptions& options);

struct ImportOptions {
  std::string format, in, out, source;
  double hz = 0;  // 0: from the header
  double unit_ns = 1e6;
};
void import_trace(const ImportOptions& options);

// Writes the trace as CSV.
void export_trace(const std::string& in, const std::string& out);

// Prints what a trace consists of.
void describe_trace(const std::string& path);

}  // namespace timerbench
