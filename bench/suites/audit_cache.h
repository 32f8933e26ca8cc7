// Keeps the outcomes of audited replays in files. Every cell of a campaign is a process of its own,
// and need not repeat an audit, which takes a minute with 10^7 timers.
#pragma once

#include <filesystem>
#include <optional>

#include "replay/backend.h"
#include "trace/outcome.h"
#include "trace/trace.h"

namespace timerbench {

class AuditCache {
 public:
  // Makes the folder when it is needed. Without a folder nothing is kept.
  explicit AuditCache(std::filesystem::path folder = {}) : folder_(std::move(folder)) {}

  // The outcome of the last replay of this trace that was audited, if this build of the program
  // made it. Nothing if there is none, or if its file is damaged. O(ops).
  std::optional<Outcome> find(const Trace& trace, const Backend& backend, Tick granularity) const;

  // Keeps it for find(), if the folder takes it.
  void keep(const Outcome& outcome, const Trace& trace, const Backend& backend,
            Tick granularity) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace timerbench
