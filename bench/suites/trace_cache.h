// Traces with their outcomes, made once and kept in files: every cell of a campaign is a process of
// its own, and none has to make its trace again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "trace/trace.h"
#include "workloads/workload.h"

namespace timerbench {

class TraceCache {
 public:
  // In that folder, which is made when it is needed. No folder: nothing is kept.
  explicit TraceCache(std::filesystem::path folder = {}) : folder_(std::move(folder)) {}

  // The trace of a workload; its info().outcome is there. Made where it is not in the folder, or the
  // file is damaged, or made by another version of the generators. Throws TraceError, ParameterError,
  // FileError, Interrupted, std::bad_alloc.
  Trace get(const Workload& workload, const WorkloadOptions& options) const;

 private:
  std::filesystem::path folder_;
};

// Adds what the trace must come to, by the model. O(ops log pending). Throws Interrupted.
void compute_expected_outcome(Trace& trace);

}  // namespace timerbench
