// The commands of the program and what they can be told; the command line is in command_line.cc.
//
// Each throws UsageError for what is not there, CommandFailed when what went wrong has been said,
// and passes on the errors of what it uses, whose texts are one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/timer_queue.h"
#include "verify/audited_queue.h"

namespace timerbench {

// Backends with their precision, workloads and suites, for people or as JSON.
void print_list(bool as_json);

// Whether this machine is fit for measuring, for people or as JSON. Takes a second.
void examine_machine(bool as_json);

// What the machine's memory, clock and sleeps take.
void print_limits(bool as_json);

// Of the suite `purgatory`; what is not given is that of its scenario `low`.
struct PurgatoryOptions {
  std::optional<std::uint32_t> num, timeout, keys, key_space_size;
  std::optional<double> rate, pct50, pct75;

  bool any() const { return num || timeout || keys || key_space_size || rate || pct50 || pct75; }
};

struct RunOptions {
  std::string suite;                               // none: what the others choose
  std::string backends, workloads, sizes, traces;  // separated by commas
  std::vector<std::string> settings;               // NAME=VALUE, parameters of the workloads
  Tick granularity = 1;
  std::uint64_t items = 0;
  std::uint64_t seed = 1;
  std::string cache;           // a folder in which traces are kept; none: nowhere
  double replay_seconds = 0;   // 0: the suite's
  std::string pages;           // "4k" or "2m"; none: as the system has it
  std::string pass = "total";  // or tails, memory, once
  double slow_down = 0;        // percent by which every replay is made longer
  bool verified = false;       // whoever asks has done it
  double seconds = 0;          // of each cell on the wall clock; 0: the suite's
  PurgatoryOptions purgatory;
  std::vector<std::string> benchmark_flags;  // Google Benchmark's
};
void run_suite(const RunOptions& options);

// Makes the traces that such a run would need, and prints a line of JSON for what it measures and one
// for each of its inputs: for programs that run its cells one by one.
void prepare_suite(const RunOptions& options);

struct VerifyOptions {
  std::vector<std::string> names;  // of backends and services; none: all
  double seconds = 1;
  std::uint64_t seed = 1;
  std::string trace;      // to be replayed by backends; none: all there is to check
  Conditions conditions;  // of the replay of `trace`
};
void verify_contenders(const VerifyOptions& options);

struct ReplayOptions {
  std::string trace;
  std::string backend;
  std::string fired;  // where the fires go; none: nowhere
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
  double hz = 0;  // 0: the header says it
  double unit_ns = 1e6;
};
void import_trace(const ImportOptions& options);

// As a CSV.
void export_trace(const std::string& in, const std::string& out);

// What a trace consists of.
void describe_trace(const std::string& path);

}  // namespace timerbench
