// Looks up the names that a user types. An unknown name is refused with the nearest known one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "durable/engine.h"
#include "realtime/service.h"
#include "replay/backend.h"
#include "suites/suite.h"
#include "trace/trace.h"
#include "workloads/workload.h"

namespace timerbench {

// "unknown KIND 'NAME'; did you mean 'NEAREST'?", and the command that lists the known names.
std::string unknown(std::string_view kind, std::string_view name,
                    const std::vector<std::string_view>& known);

// The items of a comma-separated list, each once.
std::vector<std::string> split(std::string_view list);

// A name is a backend or a family, which stands for all its members: "ring" is ring_512 and
// ring_65536. "libraries" stands for all libraries, "processes" for all other programs. An empty
// list means all. The result is in roster order without repeats. Throw UsageError.
std::vector<const Backend*> find_backends(const std::vector<std::string>& names);
std::vector<const ServiceBackend*> find_services(const std::vector<std::string>& names);

// The same for durable queues; an empty list, or "durable", means all. Throws UsageError.
std::vector<const DurableContender*> find_durable(const std::vector<std::string>& names);

struct Contenders {
  std::vector<const Backend*> backends;
  std::vector<const ServiceBackend*> services;
  std::vector<const DurableContender*> durable;
};

// The same for all kinds. An empty list means all backends and services; durable queues, whose
// engines must be started, are chosen by name only, or all by "durable". Throws UsageError.
Contenders find_contenders(const std::vector<std::string>& names);

// Finds one backend; a family of several is refused. Throws UsageError.
const Backend& find_backend(const std::string& name);

// Parses NAME=VALUE, the parameters of workloads. Throws UsageError.
Settings parse_settings(const std::vector<std::string>& texts);

// Throws UsageError.
const Workload& find_workload(const std::string& name);

// The files of bench/suites, sorted by name.
std::vector<std::filesystem::path> suite_files();

// A suite of bench/suites, or the user's file NAME.toml or FOLDER/NAME. Throws SuiteError.
std::optional<Suite> find_suite(const std::string& name);

// Loads NAME, NAME.npy or NAME.json. Throws TraceError, and OutOfMemory if the memory is too small
// to replay the trace.
Trace load_trace(const std::string& name);

}  // namespace timerbench
