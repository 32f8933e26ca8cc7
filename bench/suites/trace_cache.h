// Keeps traces with their outcomes in files. Every cell of a campaign is a process of its own, and
// need not make its trace again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "trace/trace.h"
#include "workloads/workload.h"

namespace timerbench {

class TraceCache {
 public:
  // Makes the folder when it is needed. Without a folder nothing is kept.
  explicit TraceCache(std::filesystem::path folder = {}) : folder_(std::move(folder)) {}

  // The trace of a workload, with both outcomes in info(). It is made if the folder lacks it, if its file is
  // damaged, or if the generators have changed. Throws TraceError, ParameterError, FileError,
  // Interrupted, std::bad_alloc.
  Trace get(const Workload& workload, const WorkloadOptions& options) const;

 private:
  std::filesystem::path folder_;
};

// Adds the outcomes that the model computes. O(ops log pending). Throws Interrupted.
void compute_expected_outcome(Trace& trace);

}  // namespace timerbench
