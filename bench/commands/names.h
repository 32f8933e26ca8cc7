// Names that a user types: found, or refused with the nearest one there is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realtime/service.h"
#include "replay/backend.h"
#include "suites/suite.h"
#include "trace/trace.h"
#include "workloads/workload.h"

namespace timerbench {

// "unknown KIND 'NAME'; did you mean 'NEAREST'?", with what lists them.
std::string unknown(std::string_view kind, std::string_view name,
                    const std::vector<std::string_view>& known);

// The items of a comma-separated list.
std::vector<std::string> split(std::string_view list);

// A name is a backend or a family, all of whose settings it means: "ring" is ring_512, ring_65536.
// No names are all backends. In roster order, each once. Throw UsageError.
std::vector<const Backend*> find_backends(const std::vector<std::string>& names);
std::vector<const ServiceBackend*> find_services(const std::vector<std::string>& names);

struct Contenders {
  std::vector<const Backend*> backends;
  std::vector<const ServiceBackend*> services;
};

// Likewise of both; no names are all of both. Throws UsageError.
Contenders find_contenders(const std::vector<std::string>& names);

// One backend, hence no family of several. Throws UsageError.
const Backend& find_backend(const std::string& name);

// NAME=VALUE, as parameters of workloads are set. Throws UsageError.
Settings parse_settings(const std::vector<std::string>& texts);

// Throws UsageError.
const Workload& find_workload(const std::string& name);

// The suites of bench/suites, by name.
std::vector<std::filesystem::path> suite_files();

// One of them, or of a file of the user's: NAME.toml, or with a folder. Throws SuiteError.
std::optional<Suite> find_suite(const std::string& name);

// The trace of NAME, NAME.npy or NAME.json. Throws TraceError, and OutOfMemory if there is not
// enough to replay it.
Trace load_trace(const std::string& name);

}  // namespace timerbench
